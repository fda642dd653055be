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

    private var capacity: Int { page.capacity }
    var bitmapsStart: Int { TableLeaf.arraysStart(capacity: capacity, keyWidth: keyWidth) }
    var bitmapBytes: Int { (capacity + 63) / 64 * 8 }
    private var columnsStart: Int { bitmapsStart + bitmapBytes * layout.bitmapCount }
    private var arraysEnd: Int { columnsStart + capacity * layout.fixedPerRow }
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

    func setBit(_ bitmap: Int, _ slot: Int, _ value: Bool) {
        let offset = bitmapsStart + bitmapBytes * bitmap + slot >> 3
        let mask = UInt8(1) << UInt8(slot & 7)
        let byte: UInt8 = page.load(offset)
        page.store(value ? byte | mask : byte & ~mask, at: offset)
    }

    private func variableCell(_ i: Int, _ slot: Int) -> (start: Int, length: Int, isBlob: Bool) {
        let offset = cellOffset(column(i), slot)
        let word: UInt16 = page.load(offset + 2)
        return (Int(page.load(offset, as: UInt16.self)), Int(word & ~BlobCell.flag), word & BlobCell.flag != 0)
    }

    /// A description of the fault of a variable cell; nil if it has none.
    func cellFault(_ i: Int, _ slot: Int) -> String? {
        let cell = variableCell(i, slot)
        guard cell.length == 0 || (cell.start >= page.heapStart && cell.start + cell.length <= page.limit) else {
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

    // MARK: Change

    /// Appends a row, for whose key the key width suffices. False if there is no room.
    func append(key: UInt64, _ row: RowBuffer) -> Bool {
        let slot = count
        guard slot < capacity, page.heapStart - arraysEnd >= row.variableBytes else { return false }
        assert(slot == 0 || self.key(slot - 1) < key, "The keys of a leaf ascend.")
        storeKey(key, at: slot)
        page.count = slot + 1
        for i in layout.columns.indices { writeCell(i, slot, row) }
        assert(self.key(slot) == key, "A key fits the key width of its leaf.")
        assert(page.heapStart >= arraysEnd, "The arrays and the heap of a leaf do not overlap.")
        return true
    }

    /// Inserts a row before the row at `slot`. False if there is no room, if the leaf stores no keys, or if the row would be the first one, since all keys are
    /// stored as differences to it.
    func insert(at slot: Int, key: UInt64, _ row: RowBuffer) -> Bool {
        let count = count
        guard slot > 0, keyWidth > 0, count < capacity, page.heapStart - arraysEnd >= row.variableBytes else { return false }
        assert(slot < count && self.key(slot - 1) < key && key < self.key(slot), "The keys of a leaf ascend.")
        page.move(from: Page.headerSize + keyWidth * slot, to: Page.headerSize + keyWidth * (slot + 1), count: keyWidth * (count - slot))
        for bitmap in 0 ..< layout.bitmapCount { makeRoom(inBitmap: bitmap, at: slot) }
        for i in layout.columns.indices where column(i).valueBitmap < 0 {
            page.move(from: cellOffset(column(i), slot), to: cellOffset(column(i), slot + 1), count: (count - slot) * Int(column(i).width))
        }
        storeKey(key, at: slot)
        page.count = count + 1
        for i in layout.columns.indices { writeCell(i, slot, row) }
        assert(self.key(slot) == key, "A key fits the key width of its leaf.")
        assert(page.heapStart >= arraysEnd, "The arrays and the heap of a leaf do not overlap.")
        return true
    }

    /// Moves the bits from `slot` on by one.
    private func makeRoom(inBitmap bitmap: Int, at slot: Int) {
        let start = bitmapsStart + bitmapBytes * bitmap
        let first = start + slot >> 6 * 8
        var offset = start + count >> 6 * 8
        while offset > first {
            page.store(page.load(offset, as: UInt64.self) << 1 | page.load(offset - 8, as: UInt64.self) >> 63, at: offset)
            offset -= 8
        }
        let word: UInt64 = page.load(first)
        let below: UInt64 = 1 << UInt64(slot & 63) - 1
        page.store(word & below | (word & ~below) << 1, at: first)
    }

    /// Writes a cell. `room` is the heap that a variable cell may reuse: the bytes of the cell that it replaces.
    private func writeCell(_ i: Int, _ slot: Int, _ row: RowBuffer, reusing room: (start: Int, length: Int) = (0, 0)) {
        let column = column(i)
        assert(column.kind == row.kind(i).rawValue, "A row has the kinds of its table's columns.")
        let isNull = row.isNull(i)
        setBit(Int(column.nullBitmap), slot, isNull)
        if column.valueBitmap >= 0 {
            setBit(Int(column.valueBitmap), slot, !isNull && row.bit(i))
        } else if column.kind == ColumnKind.bytes.rawValue {
            guard !isNull else { return page.store(UInt32(0), at: cellOffset(column, slot)) }
            let cell = row.cell(i)
            let reuses = room.length > 0 && cell.length <= room.length
            let start = reuses ? room.start : page.pushHeap(cell.length)
            if reuses { page.heapGarbage -= cell.length }
            page.copy(row.bytes(i), to: start)
            page.store(UInt16(start), at: cellOffset(column, slot))
            page.store(
                UInt16(cell.length) | (cell.isBlob ? BlobCell.flag : 0),
                at: cellOffset(column, slot) + 2)
        } else if isNull {
            page.zero(cellOffset(column, slot), count: Int(column.width))
        } else {
            page.copy(row.fixedBytes(i).prefix(Int(column.width)), to: cellOffset(column, slot))
        }
    }

    /// Replaces a row in place. Variable cells that are not longer than before use the same bytes of the heap. False if the heap has no room for the
    /// others.
    func replace(_ slot: Int, _ row: RowBuffer) -> Bool {
        assert(slot < count, "A leaf has the row that is replaced.")
        var needed = 0
        for i in layout.variableColumns where !row.isNull(i) && row.cell(i).length > heapRange(i, slot).length { needed += row.cell(i).length }
        guard page.heapStart - arraysEnd >= needed else { return false }
        page.heapGarbage += heapBytes(slot..<slot + 1)
        assert(page.heapGarbage <= page.limit - page.heapStart, "Dead bytes lie in the heap.")
        for i in layout.columns.indices { writeCell(i, slot, row, reusing: heapRange(i, slot)) }
        return true
    }

    /// The bytes of a variable cell in the heap; none for null and for fixed cells.
    private func heapRange(_ i: Int, _ slot: Int) -> (start: Int, length: Int) {
        guard column(i).kind == ColumnKind.bytes.rawValue, !isNull(i, slot) else { return (0, 0) }
        let cell = variableCell(i, slot)
        return (cell.start, cell.length)
    }

    /// Sets one fixed cell, to null if `cell` is nil.
    func patch(_ i: Int, _ slot: Int, _ cell: Bytes?) {
        let column = column(i)
        assert(slot < count, "A leaf has the row that is changed.")
        assert(cell == nil || column.valueBitmap >= 0 || cell!.count == Int(column.width), "A cell has its column's width.")
        setBit(Int(column.nullBitmap), slot, cell == nil)
        if column.valueBitmap >= 0 {
            setBit(Int(column.valueBitmap), slot, cell.map { $0.load(0, as: UInt8.self) != 0 } ?? false)
        } else if let cell {
            page.copy(cell, to: cellOffset(column, slot))
        } else {
            page.zero(cellOffset(column, slot), count: Int(column.width))
        }
    }

    /// Appends rows of another leaf, and converts them to this leaf's layout. The caller has checked that there is room.
    func append(_ slots: Range<Int>, of source: TableLeaf, fills: [[UInt8]?]) {
        guard !slots.isEmpty else { return }
        let start = count
        assert(start + slots.count <= capacity, "A leaf has room for the rows that were measured.")
        page.count = start + slots.count
        for (n, slot) in slots.enumerated() { storeKey(source.key(slot), at: start + n) }
        for i in layout.columns.indices {
            let wanted = layout.columns[i]
            if source.layout === layout {
                copyColumn(i, from: source, i, slots, to: start)
            } else if let there = source.layout.columns.firstIndex(where: { $0.id == wanted.id && $0.kind == wanted.kind }) {
                copyColumn(i, from: source, there, slots, to: start)
            } else {
                fillColumn(i, fills[i], start..<start + slots.count)
            }
        }
    }

    private func copyColumn(_ i: Int, from source: TableLeaf, _ there: Int, _ slots: Range<Int>, to start: Int) {
        let target = column(i)
        let origin = source.column(there)
        copyBits(Int(target.nullBitmap), from: source, Int(origin.nullBitmap), slots, to: start)
        if target.valueBitmap >= 0 {
            copyBits(Int(target.valueBitmap), from: source, Int(origin.valueBitmap), slots, to: start)
        } else if target.kind == ColumnKind.bytes.rawValue {
            for (n, slot) in slots.enumerated() where !source.isNull(there, slot) {
                let cell = source.variableCell(there, slot)
                let heap = page.pushHeap(cell.length)
                page.copy(cell.length, from: source.page, at: cell.start, to: heap)
                let offset = cellOffset(target, start + n)
                page.store(UInt16(heap), at: offset)
                page.store(UInt16(cell.length) | (cell.isBlob ? BlobCell.flag : 0), at: offset + 2)
            }
        } else {
            page.copy(
                slots.count * Int(target.width), from: source.page, at: source.cellOffset(origin, slots.lowerBound),
                to: cellOffset(target, start))
        }
    }

    private func copyBits(_ bitmap: Int, from source: TableLeaf, _ there: Int, _ slots: Range<Int>, to start: Int) {
        if start == 0, slots.lowerBound == 0 {
            let from = source.bitmapsStart + source.bitmapBytes * there
            let to = bitmapsStart + bitmapBytes * bitmap
            page.copy((slots.count + 7) / 8, from: source.page, at: from, to: to)
            if slots.count & 7 != 0 {
                let last = to + slots.count >> 3
                page.store(page.load(last, as: UInt8.self) & (1 << UInt8(slots.count & 7) - 1), at: last)
            }
            return
        }
        for (n, slot) in slots.enumerated() where source.bit(there, slot) { setBit(bitmap, start + n, true) }
    }

    private func fillColumn(_ i: Int, _ fill: [UInt8]?, _ slots: Range<Int>) {
        for slot in slots {
            guard let fill else {
                setBit(Int(column(i).nullBitmap), slot, true)
                continue
            }
            fill.withBorrowedBytes { bytes in
                guard column(i).kind == ColumnKind.bytes.rawValue else { return patch(i, slot, bytes) }
                let heap = page.pushHeap(bytes.count)
                page.copy(bytes, to: heap)
                page.store(UInt16(heap), at: cellOffset(column(i), slot))
                page.store(UInt16(bytes.count), at: cellOffset(column(i), slot) + 2)
            }
        }
    }
}
