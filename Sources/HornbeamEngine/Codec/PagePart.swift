// The parts of a tree page, in the order of their bytes. The code that knows the layout of a page describes it for `SegmentWriter`.

/// A part of a page with values of one kind.
package enum PagePart: Sendable {
    /// Bytes without a known structure.
    case bytes(Int)
    /// Little-endian integers, or doubles, of 1, 2, 4 or 8 bytes.
    case numbers(count: Int, width: Int)
    /// Texts, one after the other.
    case text(Int)
    /// The cells of a variable column: u16 offset, u16 length. The texts lie in the heap from `end` down.
    case cells(count: Int, end: Int)
    /// The slots of the leaf of an index: u16 offset, u16 length of the rest, u16 length of the value. The entries lie in the heap from `end` down.
    case slots(count: Int, end: Int)
    /// The heap of the leaf of an index: the tail and the value of each entry, last entry first. The slots begin at the offset `slots` of the page.
    case entries(Int, count: Int, slots: Int)
}

/// How a segment is stored.
enum SegmentMethod: UInt8 {
    case bytes = 0
    case numbers = 1
    case decimals = 2
    case text = 3
    case cells = 4
    case slots = 5
    case entries = 6
    case records = 7
}
