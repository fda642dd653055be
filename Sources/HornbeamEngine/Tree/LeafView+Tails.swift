// Tests the ends of a leaf's variable cells, without a branch or a call for each cell.
//
// The heap follows the page's header, so the eight bytes before a cell's end are always in the page. A mask selects the bytes to compare.

/// One to eight bytes that are compared with the end of a cell.
package struct CellTail: Sendable {
    let bytes: UInt64
    let mask: UInt64
    let count: Int

    /// Nil if `text` is empty or has more than eight bytes.
    package init?(_ text: some Collection<UInt8>) {
        guard (1...8).contains(text.count) else { return nil }
        count = text.count
        mask = ~0 << UInt64(64 - 8 * count)
        bytes = text.reduce(0) { $0 >> 8 | UInt64($1) << 56 }
    }
}

extension LeafView {
    /// Clears the bits of rows whose cell does not end with the tail. A null cell does not end with it.
    ///
    /// Tests only rows whose bit is set. Returns false at the first blob, and for a leaf without the column. Then the bits that it has cleared
    /// are correct, and the caller must test the other rows one by one.
    package func filterRows(_ words: inout [UInt64], endingWith tail: CellTail, in column: Int) -> Bool {
        let c = unsafe columns[column]
        guard !c.isAbsent else { return false }
        precondition(c.isUnpacked, "The scan does not read column \(column).")
        let cells = unsafe page.base + (columnsStart + capacity * Int(c.fixedBefore))
        return unsafe words.withUnsafeMutableBufferPointer { words in
            for index in words.indices {
                var rest = unsafe words[index]
                var kept: UInt64 = 0
                while rest != 0 {
                    let bit = rest.trailingZeroBitCount
                    rest &= rest &- 1
                    // The offset is in the low half, the length in the high half.
                    let cell = unsafe cells.loadUnaligned(fromByteOffset: (index &* 64 &+ bit) &* 4, as: UInt32.self)
                    guard cell < 0x8000_0000 else { return false }
                    let length = Int(cell >> 16)
                    // The offset of an empty cell is undefined.
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
