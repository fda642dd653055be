// Changes a leaf in place: appends, inserts and replaces rows, and copies rows of another leaf.

extension TableLeaf {
    /// Appends a row, for whose key the key width suffices. False if there is no room.
    func append(key: UInt64, _ row: RowBuffer) -> Bool {
        let slot = count
        guard slot < capacity, page.heapStart - arraysEnd >= row.variableBytes else { return false }
        assert(slot == 0 || self.key(slot - 1) < key, "The keys of a leaf ascend.")
        storeKey(key, at: slot)
        page.count = slot + 1
        writeCells(slot, row)
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
        writeCells(slot, row)
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

    /// Writes the cells of a row. The offsets that its cells share are computed once.
    ///
    /// - Parameter reusesHeap: True if a variable cell may reuse the bytes of the cell that it replaces.
    private func writeCells(_ slot: Int, _ row: RowBuffer, reusesHeap: Bool = false) {
        assert(row.columnCount == layout.columns.count, "A row has the columns of its table.")
        let (capacity, bitmaps, bitmapBytes) = (capacity, bitmapsStart, bitmapBytes)
        let columns = bitmaps + bitmapBytes * layout.bitmapCount
        for i in 0..<row.columnCount {
            let column = column(i)
            assert(column.kind == row.kind(i).rawValue, "A row has the kinds of its table's columns.")
            let room = reusesHeap ? heapRange(i, slot) : (0, 0)
            let isNull = row.isNull(i)
            setBit(in: bitmaps + bitmapBytes * Int(column.nullBitmap), slot, isNull)
            guard column.valueBitmap < 0 else {
                setBit(in: bitmaps + bitmapBytes * Int(column.valueBitmap), slot, !isNull && row.bit(i))
                continue
            }
            let offset = columns + capacity * Int(column.fixedBefore) + slot * Int(column.width)
            if isNull {
                page.zero(offset, count: Int(column.width))
            } else if column.kind == ColumnKind.bytes.rawValue {
                writeVariableCell(row.bytes(i), isBlob: row.cell(i).isBlob, at: offset, reusing: room)
            } else {
                writeFixedCell(row, i, Int(column.width), at: offset)
            }
        }
    }

    /// Writes a variable cell. Reuses the bytes of the cell that it replaces if they suffice.
    @inline(__always)
    func writeVariableCell(_ bytes: Bytes, isBlob: Bool, at offset: Int, reusing room: (start: Int, length: Int)) {
        let reuses = room.length > 0 && bytes.count <= room.length
        let start = reuses ? room.start : page.pushHeap(bytes.count)
        if reuses { page.heapGarbage -= bytes.count }
        page.copy(bytes, to: start)
        page.store(UInt16(start), at: offset)
        page.store(UInt16(bytes.count) | (isBlob ? BlobCell.flag : 0), at: offset + 2)
    }

    /// The common widths are stored without a call.
    @inline(__always)
    private func writeFixedCell(_ row: RowBuffer, _ i: Int, _ width: Int, at offset: Int) {
        let cell = row.fixedBytes(i)
        switch width {
        case 8: page.store(cell.load(0, as: UInt64.self), at: offset)
        case 4: page.store(cell.load(0, as: UInt32.self), at: offset)
        default: page.copy(cell.prefix(width), to: offset)
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
        writeCells(slot, row, reusesHeap: true)
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

    func copyColumn(_ i: Int, from source: TableLeaf, _ there: Int, _ slots: Range<Int>, to start: Int) {
        let target = column(i)
        let origin = source.column(there)
        copyBits(Int(target.nullBitmap), from: source, Int(origin.nullBitmap), slots, to: start)
        if target.valueBitmap >= 0 {
            copyBits(Int(target.valueBitmap), from: source, Int(origin.valueBitmap), slots, to: start)
        } else if target.kind == ColumnKind.bytes.rawValue {
            for (n, slot) in slots.enumerated() where !source.isNull(there, slot) { copyVariableCell(i, from: source, there, slot, to: start + n) }
        } else {
            page.copy(
                slots.count * Int(target.width), from: source.page, at: source.cellOffset(origin, slots.lowerBound),
                to: cellOffset(target, start))
        }
    }

    @inline(__always)
    func copyVariableCell(_ i: Int, from source: TableLeaf, _ there: Int, _ slot: Int, to target: Int) {
        let cell = source.variableCell(there, slot)
        let heap = page.pushHeap(cell.length)
        page.copy(cell.length, from: source.page, at: cell.start, to: heap)
        let offset = cellOffset(column(i), target)
        page.store(UInt16(heap), at: offset)
        page.store(UInt16(cell.length) | (cell.isBlob ? BlobCell.flag : 0), at: offset + 2)
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
