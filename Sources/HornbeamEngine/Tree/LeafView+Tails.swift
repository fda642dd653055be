// Testing how the variable cells of a leaf end, without a branch or a call for each.
//
// Cells lie in the heap behind the page's header, so that the eight bytes before a cell's end are always bytes of the
// page. Which of them belong to the cell its length says.

/// Up to eight bytes that a cell is to end with.
package struct CellTail: Sendable {
    let bytes: UInt64
    let mask: UInt64
    let count: Int

    /// Nil for no bytes, and for more than eight.
    package init?(_ text: some Collection<UInt8>) {
        guard (1...8).contains(text.count) else { return nil }
        count = text.count
        mask = ~0 << UInt64(64 - 8 * count)
        bytes = text.reduce(0) { $0 >> 8 | UInt64($1) << 56 }
    }
}

extension LeafView {
    /// Clears the bits of the rows whose cell does not end with the tail; null cells are empty and do not.
    ///
    /// Asks only about rows whose bit is set. Answers false, with bits cleared rightly so far, at a cell outside the leaf and
    /// in a leaf that lacks the column: these take a closer look.
    package func keepRows(_ words: inout [UInt64], endingWith tail: CellTail, in column: Int) -> Bool {
        let c = unsafe columns[column]
        guard !c.isAbsent else { return false }
        let cells = unsafe page.base + (columnsStart + capacity * Int(c.fixedBefore))
        return unsafe words.withUnsafeMutableBufferPointer { words in
            for index in words.indices {
                var rest = unsafe words[index]
                var kept: UInt64 = 0
                while rest != 0 {
                    let bit = rest.trailingZeroBitCount
                    rest &= rest &- 1
                    // Start in the low half, length in the high one.
                    let cell = unsafe cells.loadUnaligned(fromByteOffset: (index &* 64 &+ bit) &* 4, as: UInt32.self)
                    guard cell < 0x8000_0000 else { return false }
                    let length = Int(cell >> 16)
                    // The start of an empty cell says nothing.
                    let end = length == 0 ? 8 : Int(cell & 0xFFFF) &+ length
                    assert(end >= 8 && end <= Page.sizeMax, "a cell ends at \(end)")
                    let last = unsafe page.base.loadUnaligned(fromByteOffset: end &- 8, as: UInt64.self)
                    let isFound = (last & tail.mask) == tail.bytes && length >= tail.count
                    kept |= (isFound ? 1 : 0) << UInt64(bit)
                }
                unsafe words[index] = kept
            }
            return true
        }
    }
}
