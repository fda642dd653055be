internal import HornbeamStore

/// The newest commits, numbered in order, with at most `limit` objects in total.
struct ChangeLog {
    let limit: Int
    private var changes: [StoreChange] = []
    /// The index in `changes` of the oldest commit in the log.
    private var head = 0
    /// The number of the oldest commit in the log.
    private(set) var start: UInt64 = 0
    /// The number of commits in the log, plus the number of objects in them.
    private(set) var weight = 0

    init(limit: Int) { self.limit = limit }

    /// The number of the next commit.
    var end: UInt64 { start + UInt64(changes.count - head) }

    mutating func append(_ change: StoreChange) {
        if change.isUnknown { return forget() }
        changes.append(change)
        weight += Self.weight(change)
        while weight > limit { dropFirst() }
        compact()
    }

    /// The commits from a number on; nil if some of them were removed.
    func changes(from number: UInt64) -> ArraySlice<StoreChange>? {
        guard number >= start, number <= end else { return nil }
        return changes[(head + Int(number - start))...]
    }

    /// Removes the commits before a number.
    mutating func drop(before number: UInt64) {
        while start < min(number, end) { dropFirst() }
        compact()
    }

    /// Removes all commits and skips a number, so that every reader detects the gap.
    mutating func forget() {
        start = end + 1
        changes = []
        (head, weight) = (0, 0)
    }

    private static func weight(_ change: StoreChange) -> Int { change.count + 1 }

    private mutating func dropFirst() {
        weight -= Self.weight(changes[head])
        changes[head] = StoreChange()
        head += 1
        start += 1
    }

    /// Moves the commits to the front of the array when the free part before them is larger. So removal has a constant amortised cost.
    private mutating func compact() {
        guard head * 2 > changes.count else { return }
        changes.removeFirst(head)
        head = 0
    }
}
