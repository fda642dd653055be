/// The objects of the last saves of this process in a querying store, by the number of saves that have ended before.
///
/// Saves that are not recorded may concern any object: those that were refused and have replaced cached rows, and those that delete objects, to which other
/// rows that were read before still refer.
struct RecentSaves {
    private static let countMax = 64
    private var keys: [Int: [UInt64]] = [:]

    /// Records a save that is about to end.
    mutating func note(_ changes: ChangeSet, number: Int) {
        guard changes.deletes.isEmpty else { return }
        var all: [UInt64] = []
        all.reserveCapacity(changes.inserts.count)
        for place in changes.inserts.indices { all.append(changes.inserts[place].key) }
        all += changes.updates.map(\.key)
        for link in changes.links { all += [link.owner.key] + link.added.map(\.key) + link.removed.map(\.key) }
        if keys.count >= Self.countMax { keys = keys.filter { $0.key > number - Self.countMax / 2 } }
        keys[number] = all
    }

    /// True if no save of a range of numbers concerns one of the objects.
    func areOfOthers(_ objects: Set<UInt64>, from start: Int, to end: Int) -> Bool {
        (start ..< end).allSatisfy { number in keys[number].map { $0.allSatisfy { !objects.contains($0) } } ?? false }
    }
}
