// The leaf of a table: rows in the order of their keys, cells column by column (drawing in ResolvedLayout.swift).
//
// Key width 0: the keys are consecutive numbers from the first key on. Other widths: each key is stored as its difference to the first
// key, in 2, 4 or 8 bytes. The slot of a row is its index in the leaf.
// Invariants: keys ascend strictly; null cells are zero; bits beyond `count` are zero.

import Glibc

/// A table leaf with its layout, for reading and changing.
struct TableLeaf {
    let page: Page
    let layout: ResolvedLayout

    var count: Int { page.count }
    var firstKey: UInt64 { page.load(16) }
    var keyWidth: Int { Int(page.load(28, as: UInt8.self)) }

    static func create(
        in page: Page, _ layout: ResolvedLayout, capacity: Int, keyWidth: Int, firstKey: UInt64, limit: Int
    ) -> TableLeaf {
        assert([0, 2, 4, 8].contains(keyWidth), "A key width is one of four.")
        assert(layout.arrayBytes(capacity: capacity, keyWidth: keyWidth) <= limit, "The arrays of a leaf leave room for its heap.")
        page.format(.tableLeaf, level: 0, capacity: capacity, limit: limit)
        page.store(firstKey, at: 16)
        page.store(layout.version, at: 24)
        page.store(UInt8(keyWidth), at: 28)
        page.zero(32, count: layout.arrayBytes(capacity: capacity, keyWidth: keyWidth) - 32)
        return TableLeaf(page: page, layout: layout)
    }

    @inline(__always)
    static func arraysStart(capacity: Int, keyWidth: Int) -> Int {
        Page.headerSize + (capacity * keyWidth + 7) & ~7
    }

    var capacity: Int { page.capacity }
    var bitmapsStart: Int { TableLeaf.arraysStart(capacity: capacity, keyWidth: keyWidth) }
    var bitmapBytes: Int { (capacity + 63) / 64 * 8 }
    var columnsStart: Int { bitmapsStart + bitmapBytes * layout.bitmapCount }
    var arraysEnd: Int { columnsStart + capacity * layout.fixedPerRow }
    func column(_ i: Int) -> PhysicalColumn { unsafe layout.physical[i] }
    func cellOffset(_ column: PhysicalColumn, _ slot: Int) -> Int {
        columnsStart + capacity * Int(column.fixedBefore) + slot * Int(column.width)
    }

    // MARK: Keys

    func key(_ slot: Int) -> UInt64 { TableLeaf.key(page, slot) }

    @inline(__always)
    static func key(_ page: Page, _ slot: Int) -> UInt64 {
        let first: UInt64 = page.load(16)
        switch page.load(28, as: UInt8.self) {
        case 0: return first &+ UInt64(slot)
        case 2: return first &+ UInt64(page.load(32 + 2 * slot, as: UInt16.self))
        case 4: return first &+ UInt64(page.load(32 + 4 * slot, as: UInt32.self))
        default: return first &+ page.load(32 + 8 * slot, as: UInt64.self)
        }
    }

    /// The first slot whose key is not below `key`, and whether both keys are equal.
    @inline(__always)
    static func find(_ page: Page, _ key: UInt64) -> (slot: Int, found: Bool) {
        let first: UInt64 = page.load(16)
        let count = page.count
        guard key >= first else { return (0, false) }
        if page.load(28, as: UInt8.self) == 0 {
            let slot = key - first
            return slot < UInt64(count) ? (Int(slot), true) : (count, false)
        }
        var low = 0
        var length = count
        while length > 0 {
            let half = length >> 1
            let isBelow = TableLeaf.key(page, low + half) < key
            low = isBelow ? low + half + 1 : low
            length = isBelow ? length - half - 1 : half
        }
        return (low, low < count && TableLeaf.key(page, low) == key)
    }

    /// The narrowest key width for rows from `first` to `last`.
    static func keyWidth(first: UInt64, last: UInt64, isConsecutive: Bool) -> Int {
        let span = last - first
        return isConsecutive ? 0 : span <= 0xFFFF ? 2 : span <= 0xFFFF_FFFF ? 4 : 8
    }

    /// True if the current key width suffices for appending `key`.
    func keepsKeys(appending key: UInt64) -> Bool {
        switch keyWidth {
        case 0: key == firstKey + UInt64(count)
        case 2: key - firstKey <= 0xFFFF
        case 4: key - firstKey <= 0xFFFF_FFFF
        default: true
        }
    }

    func storeKey(_ key: UInt64, at slot: Int) {
        assert(key >= firstKey, "The first key of a leaf is its lowest.")
        let delta = key - firstKey
        switch keyWidth {
        case 0: break
        case 2: page.store(UInt16(delta), at: 32 + 2 * slot)
        case 4: page.store(UInt32(delta), at: 32 + 4 * slot)
        default: page.store(delta, at: 32 + 8 * slot)
        }
    }

    // MARK: Cells

    func isNull(_ i: Int, _ slot: Int) -> Bool { bit(Int(column(i).nullBitmap), slot) }

    func bit(_ bitmap: Int, _ slot: Int) -> Bool {
        page.load(bitmapsStart + bitmapBytes * bitmap + slot >> 3, as: UInt8.self) >> UInt8(slot & 7) & 1 == 1
    }

    func setBit(_ bitmap: Int, _ slot: Int, _ value: Bool) { setBit(in: bitmapsStart + bitmapBytes * bitmap, slot, value) }

    /// Sets the bit of a row in the bitmap that starts at an offset.
    @inline(__always)
    func setBit(in bitmapStart: Int, _ slot: Int, _ value: Bool) {
        let offset = bitmapStart + slot >> 3
        let mask = UInt8(1) << UInt8(slot & 7)
        let byte: UInt8 = page.load(offset)
        page.store(value ? byte | mask : byte & ~mask, at: offset)
    }

    func variableCell(_ i: Int, _ slot: Int) -> (start: Int, length: Int, isBlob: Bool) {
        let offset = cellOffset(column(i), slot)
        let word: UInt16 = page.load(offset + 2)
        return (Int(page.load(offset, as: UInt16.self)), Int(word & ~BlobCell.flag), word & BlobCell.flag != 0)
    }

    /// A description of the fault of a variable cell; nil if it has none.
    func cellFault(_ i: Int, _ slot: Int) -> String? {
        let cell = variableCell(i, slot)
        guard cell.start + cell.length <= page.limit, cell.length == 0 || cell.start >= page.heapStart else {
            return "row \(slot) has a cell outside the heap"
        }
        return cell.isBlob && cell.length != BlobCell.size ? "row \(slot) has a broken blob reference" : nil
    }

    /// The blob references of a row.
    func blobs(_ slot: Int) -> [PageReference] { blobCells(slot).map(\.blob) }

    /// The blob references of a row, with their offsets in the page.
    func blobCells(_ slot: Int) -> [(offset: Int, blob: PageReference)] {
        layout.variableColumns.compactMap { i in
            guard !isNull(i, slot) else { return nil }
            let cell = variableCell(i, slot)
            return cell.isBlob ? (cell.start, page.load(cell.start)) : nil
        }
    }

    /// The bytes of the heap that a range of rows uses.
    func heapBytes(_ slots: Range<Int>) -> Int {
        var sum = 0
        for i in layout.variableColumns {
            for slot in slots where !isNull(i, slot) { sum += variableCell(i, slot).length }
        }
        return sum
    }

    /// The size of the leaf after packing.
    var usedBytes: Int {
        layout.arrayBytes(capacity: count, keyWidth: keyWidth) + page.limit - page.heapStart - page.heapGarbage
    }

    /// True if less than a sixteenth of the leaf is unused, so that packing it would gain little.
    var isWellFilled: Bool {
        let unused = page.heapStart - arraysEnd + page.heapGarbage + (capacity - count) * layout.fixedPerRow
        return count >= 8 && unused < page.limit / 16
    }
}
