internal import HornbeamStore

/// The latest commits, numbered in their order, as far as they name no more than `limit` objects together.
struct ChangeLog {
    let limit: Int
    private var changes: [StoreChange] = []
    /// Where the kept ones begin in `changes`.
    private var head = 0
    /// The number of the first kept one.
    private(set) var start: UInt64 = 0
    /// The kept commits, and the objects that they name.
    private(set) var weight = 0

    init(limit: Int) { self.limit = limit }

    /// The number that the next commit gets.
    var end: UInt64 { start + UInt64(changes.count - head) }

    mutating func append(_ change: StoreChange) {
        if change.isUnknown { return forget() }
        changes.append(change)
        weight += Self.weight(change)
        while weight > limit { dropFirst() }
        compact()
    }

    /// The commits from a number on; nil when they are not all here.
    func changes(from number: UInt64) -> ArraySlice<StoreChange>? {
        guard number >= start, number <= end else { return nil }
        return changes[(head + Int(number - start))...]
    }

    /// Lets go of the commits before a number.
    mutating func drop(before number: UInt64) {
        while start < min(number, end) { dropFirst() }
        compact()
    }

    /// More has happened than can be told: whoever was at the end has missed something.
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

    /// Moves the kept ones to the front when they are the smaller part, so that dropping them costs nothing on average.
    private mutating func compact() {
        guard head * 2 > changes.count else { return }
        changes.removeFirst(head)
        head = 0
    }
}
