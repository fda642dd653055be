internal import HornbeamEngine

/// Entries on their way into an index that is built: sorted in runs, so that neighbours go to the same leaf.
struct SortedEntries {
    private var entries: [(key: [UInt8], value: [UInt8])] = []
    /// True while every key was larger than the one before.
    private var isSorted = true

    var count: Int { entries.count }

    mutating func append(_ key: [UInt8], _ value: [UInt8]) {
        if let last = entries.last, !last.key.lexicographicallyPrecedes(key) { isSorted = false }
        entries.append((key, value))
    }

    /// Puts the entries into an index and forgets them; reports those whose key was there already.
    mutating func write(
        to tree: TreeID, in transaction: WriteTransaction, taken: (_ key: [UInt8], _ value: [UInt8]) throws(EngineError) -> Void = { _, _ in }
    ) throws(EngineError) {
        if !isSorted { entries.sort { $0.key.lexicographicallyPrecedes($1.key) } }
        for entry in entries {
            if try !transaction.putNew(entry.key, entry.value, in: tree) { try taken(entry.key, entry.value) }
        }
        entries.removeAll(keepingCapacity: true)
        isSorted = true
    }
}
