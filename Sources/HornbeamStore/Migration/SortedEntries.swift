internal import HornbeamEngine

/// Collects entries of an index that is being built, and writes them in key order, so that neighbouring entries change a leaf once.
struct SortedEntries {
    private var entries: [(key: [UInt8], value: [UInt8])] = []
    /// True while the keys arrive in ascending order.
    private var isSorted = true

    var count: Int { entries.count }

    mutating func append(_ key: [UInt8], _ value: [UInt8]) {
        if let last = entries.last, !last.key.lexicographicallyPrecedes(key) { isSorted = false }
        entries.append((key, value))
    }

    /// Writes the entries into an index, then removes them. Passes entries whose key already exists to `taken`.
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
