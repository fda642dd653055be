// Appends entries of one slotted node to another, for nodes that are rebuilt, split, merged or packed.

import Synchronization

extension SlottedNode {
    func append(_ i: Int, of source: SlottedNode) { append(i..<i + 1, of: source) }

    /// Appends a range of entries of another node. This node must have room, and its prefix must be a prefix of the keys.
    func append(_ range: Range<Int>, of source: SlottedNode) {
        assert(count + range.count <= page.capacity, "A rebuilt node has room for the entries that it was measured for.")
        assert(source.isInner == isInner, "Entries move between nodes of one kind.")
        let cut = page.prefixLength - source.page.prefixLength
        var n = count
        // The start of the heap is written once.
        var heap = page.heapStart
        for i in range {
            let rest = source.restLength(i)
            if cut >= 0, rest >= cut {
                let tail = max(rest - 8, 0)
                let dropped = min(cut, tail)
                let value = source.valueWord(i)
                // In a cell the value follows the tail.
                let length = tail - dropped + Int(value & ~SlottedNode.blobFlag)
                heap -= length
                page.copy(length, from: source.page, at: source.cell(i) + dropped, to: heap)
                page.store(cut == 0 ? source.head(i) : source.head(i, without: cut), at: Page.headerSize + 8 * n)
                page.store(UInt16(heap), at: slot(n))
                page.store(UInt16(rest - cut), at: slot(n) + 2)
                page.store(value, at: slot(n) + 4)
                page.count = n + 1
            } else {
                page.heapStart = heap
                insertWhole(i, of: source)
                heap = page.heapStart
            }
            if isInner { setChild(n, source.child(i), hint: unsafe source.hintCell(i).pointee.load(ordering: .relaxed)) }
            n += 1
        }
        page.heapStart = heap
        assert(gap >= 0, "The arrays and the heap of a node do not overlap.")
        assert(range.isEmpty || isInner || key(n - 1) == source.key(range.upperBound - 1), "An appended entry has the same key.")
    }

    /// The first eight bytes after a prefix that is longer by `cut` bytes, at least one.
    private func head(_ i: Int, without cut: Int) -> UInt64 {
        let tail = tail(i)
        if cut < 8 { return head(i) << UInt64(8 * cut) | tail.head >> UInt64(64 - 8 * cut) }
        return tail.dropFirst(min(cut - 8, tail.count)).head
    }

    /// Appends an entry of a node with a longer prefix, or one whose key does not begin with this node's prefix: the first key of an inner node.
    private func insertWhole(_ i: Int, of source: SlottedNode) {
        source.key(i).withBorrowedBytes { key in
            let done = insert(at: count, key: key, value: source.value(i), isBlob: source.isBlob(i))
            precondition(done, "A rebuilt node has room for the entries that it was measured for.")
        }
    }
}
