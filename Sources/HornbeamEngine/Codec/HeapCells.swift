// The offsets of cells in the heap of a page on disk. They follow from the lengths: each cell ends where the one before it begins.

enum HeapCells {
    private static let flag: UInt16 = 0x8000

    /// Writes a word for each cell: 0 for a null cell, otherwise its length plus 1, and its flag. False if the offsets do not follow from the lengths.
    static func writeWords(_ cells: UnsafeRawBufferPointer, count: Int, end: Int, to words: UnsafeMutableRawBufferPointer) -> Bool {
        var end = end
        for i in 0..<count {
            let offset = Int(unsafe cells.integer(at: 4 * i, as: UInt16.self))
            let length = unsafe cells.integer(at: 4 * i + 2, as: UInt16.self)
            if offset == 0, length == 0 {
                unsafe words.set(UInt16(0), at: 2 * i)
                continue
            }
            end -= Int(length & ~flag)
            guard offset == end, length & ~flag < ~flag else { return false }
            unsafe words.set(length + 1, at: 2 * i)
        }
        return true
    }

    /// Replaces the words of cells, which are in the places of their lengths, by offsets and lengths.
    static func setCells(_ cells: UnsafeMutableRawBufferPointer, count: Int, end: Int) {
        var end = UInt16(truncatingIfNeeded: end)
        for i in 0..<count {
            let word = unsafe cells.integer(at: 4 * i + 2, as: UInt16.self)
            let length = word == 0 ? 0 : word &- 1
            end &-= length & ~flag
            unsafe cells.set(word == 0 ? 0 : end, at: 4 * i)
            unsafe cells.set(length, at: 4 * i + 2)
        }
    }

    static func predictsSlots(_ slots: UnsafeRawBufferPointer, count: Int, end: Int) -> Bool {
        var end = end
        for i in 0..<count {
            end -= unsafe HeapEntries.length(slots, i)
            guard Int(unsafe slots.integer(at: 6 * i, as: UInt16.self)) == end else { return false }
        }
        return true
    }

    static func setSlots(_ slots: UnsafeMutableRawBufferPointer, count: Int, end: Int) {
        var end = end
        for i in 0..<count {
            end &-= unsafe HeapEntries.length(UnsafeRawBufferPointer(slots), i)
            unsafe slots.set(UInt16(truncatingIfNeeded: end), at: 6 * i)
        }
    }
}
