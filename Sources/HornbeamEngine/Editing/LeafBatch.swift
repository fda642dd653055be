// Rows packed into leaves outside of the pool, so that several threads can pack batches at the same time. A transaction appends the leaves to a
// table as they are.
//
// A leaf gets as many rows as fit; its arrays and its keys have exactly the needed width.
// Invariants: keys ascend within a batch; a packed leaf has at least one row.

/// Rows for the end of a table. Used by one thread at a time.
package final class LeafBatch {
    private let layouts: TableLayouts
    private let pageSize: Int
    /// Writes a value that is too large for a leaf.
    private let store: (Bytes) throws(EngineError) -> PageReference
    /// The rows of the next leaf, and the row to be filled.
    private var rows: [RowBuffer] = []
    private var keys: [UInt64] = []
    /// The bytes of the variable cells of the next leaf.
    private var heapBytes = 0
    /// One page each; reused.
    private var memory: [WriteBuffer] = []
    private(set) var leafCount = 0
    /// The values that the rows refer to.
    private(set) var blobs: [PageReference] = []

    init(_ layouts: TableLayouts, pageSize: Int, store: @escaping (Bytes) throws(EngineError) -> PageReference) {
        self.layouts = layouts
        self.pageSize = pageSize
        self.store = store
    }

    // MARK: Rows

    /// The row to be filled, with null in all cells.
    package func nextRow() -> RowBuffer {
        if rows.count == keys.count { rows.append(RowBuffer(layout: layouts.all[layouts.all.count - 1])) }
        let row = rows[keys.count]
        row.reset()
        return row
    }

    /// Adds the row that `nextRow` has returned.
    package func add(key: UInt64) throws(EngineError) {
        let row = rows[keys.count]
        _ = try row.spill(to: layouts.current.variableBytesMax(pageSize: pageSize)) { value throws(EngineError) in
            let blob = try store(value)
            blobs.append(blob)
            return blob
        }
        let bytes = row.variableBytes
        if !keys.isEmpty, !fits(key, bytes) {
            let last = keys.count
            pack()
            rows.swapAt(0, last)
        }
        assert(keys.last.map { $0 < key } ?? true, "The keys of a batch ascend.")
        keys.append(key)
        heapBytes += bytes
    }

    private func fits(_ key: UInt64, _ bytes: Int) -> Bool {
        let count = keys.count + 1
        return count < 0xFFFF && layouts.current.arrayBytes(capacity: count, keyWidth: keyWidth(to: key, count)) + heapBytes + bytes <= pageSize
    }

    private func keyWidth(to last: UInt64, _ count: Int) -> Int {
        TableLeaf.keyWidth(first: keys[0], last: last, isConsecutive: last - keys[0] == UInt64(count - 1))
    }

    // MARK: Leaves

    /// Packs the rows that do not fill a leaf.
    func finish() {
        if !keys.isEmpty { pack() }
    }

    private func pack() {
        if memory.count == leafCount { memory.append(WriteBuffer(bytes: pageSize)) }
        let leaf = TableLeaf.create(
            in: page(leafCount), layouts.current, capacity: keys.count, keyWidth: keyWidth(to: keys[keys.count - 1], keys.count),
            firstKey: keys[0], limit: pageSize)
        for (row, key) in zip(rows, keys) {
            let done = leaf.append(key: key, row)
            precondition(done, "A leaf has room for the rows that were measured.")
        }
        leafCount += 1
        keys.removeAll(keepingCapacity: true)
        heapBytes = 0
    }

    /// A packed leaf.
    func page(_ number: Int) -> Page { unsafe Page(memory[number][0..<pageSize].baseAddress!) }

    func removeAll() {
        assert(keys.isEmpty, "All rows of a batch are packed before they are appended.")
        leafCount = 0
        blobs.removeAll(keepingCapacity: true)
    }
}
