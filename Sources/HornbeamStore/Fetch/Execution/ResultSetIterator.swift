internal import HornbeamEngine

/// Iterates over a result set.
package struct ResultSetIterator: IteratorProtocol {
    private let rows: ResultSet
    /// The position of the next row, and the end position.
    private var position: Int
    private let end: Int
    /// The leaf of the next row, or the leaf before it; its number is -1 for listed rows.
    private var leafNumber = -1
    private var leaf = ResultSet.Leaf()
    private var word = 0
    /// The remaining bits of the current word.
    private var rest: UInt64 = 0

    init(_ rows: ResultSet) {
        self.rows = rows
        position = rows.skipped
        end = rows.skipped + rows.count
        guard position < end, !rows.leaves.isEmpty else { return }
        moveToLeaf(rows.leafNumber(at: position))
        (word, rest) = rows.place(of: position, in: leaf)
    }

    private mutating func moveToLeaf(_ number: Int) {
        leafNumber = number
        leaf = rows.leaves[number]
        word = 0
        rest = rows.bits(0, of: leaf)
    }

    private mutating func moveToNextWord() {
        word += 1
        if word == leaf.wordCount { return moveToLeaf(leafNumber + 1) }
        rest = rows.bits(word, of: leaf)
    }

    package mutating func next() -> ResultRow? { position < end ? removeFirst() : nil }

    /// Fills a buffer with the next rows; returns their number.
    package mutating func fill(_ buffer: UnsafeMutableBufferPointer<ResultRow>) -> Int {
        let count = min(buffer.count, end - position)
        guard count > 0, let first = buffer.baseAddress else { return 0 }
        var filled = 0
        while filled < count {
            if leafNumber >= 0, leaf.keysStart == nil {
                unsafe filled += copyConsecutiveRows(first + filled, count - filled)
            } else {
                unsafe (first + filled).initialize(to: removeFirst())
                filled += 1
            }
        }
        return count
    }

    /// Copies rows of one word of a leaf with consecutive keys. Returns their number; 0 when the next leaf lists its keys.
    @inline(__always)
    private mutating func copyConsecutiveRows(_ rows: UnsafeMutablePointer<ResultRow>, _ most: Int) -> Int {
        while rest == 0 {
            moveToNextWord()
            if leaf.keysStart != nil { return 0 }
        }
        let (entityIndex, firstKey, location) = (leaf.entityIndex, leaf.firstKey, leaf.location)
        let start = word * 64
        var bits = rest
        var taken = 0
        while bits != 0, taken < most {
            let slot = start + bits.trailingZeroBitCount
            bits &= bits &- 1
            let reference = ObjectReference(entityIndex: entityIndex, key: firstKey &+ UInt64(truncatingIfNeeded: slot))
            unsafe (rows + taken).initialize(to: ResultRow(reference: reference, hint: RowHint(location.neighbour(slot))))
            taken += 1
        }
        rest = bits
        position += taken
        return taken
    }

    /// The next row. There must be one.
    @inline(__always)
    private mutating func removeFirst() -> ResultRow {
        defer { position += 1 }
        guard leafNumber >= 0 else { return rows.listed(position) }
        while rest == 0 { moveToNextWord() }
        let slot = word * 64 + rest.trailingZeroBitCount
        rest &= rest - 1
        return rows.row(slot, position - leaf.start, of: leaf)
    }
}
