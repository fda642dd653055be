// Changes columns of selected rows of a leaf in place, and copies rows of a leaf column by column.

extension TableLeaf {
    /// Changes a column of the rows whose bits are set.
    func apply(_ change: ColumnChange, _ bits: ArraySlice<UInt64>) {
        switch change {
        case .set(let i, let cell):
            guard let cell else { return RowSelection.forEachBit(bits) { patch(i, $0, nil) } }
            cell.withBorrowedBytes { bytes in RowSelection.forEachBit(bits) { patch(i, $0, bytes) } }
        case .add(let i, let step):
            switch column(i).width {
            case 8: add(i, step, bits)
            case 4: add(i, Int32(truncatingIfNeeded: step), bits)
            case 2: add(i, Int16(truncatingIfNeeded: step), bits)
            default: add(i, Int8(truncatingIfNeeded: step), bits)
            }
        }
    }

    private func add<T: FixedWidthInteger & BitwiseCopyable>(_ i: Int, _ step: T, _ bits: ArraySlice<UInt64>) {
        let cells = cellOffset(column(i), 0)
        let nulls = bitmapsStart + bitmapBytes * Int(column(i).nullBitmap)
        let width = MemoryLayout<T>.size
        var base = 0
        for word in bits {
            let chosen = word & ~page.load(nulls + base >> 3, as: UInt64.self)
            for row in 0..<min(64, count - base) {
                let offset = cells + (base + row) * width
                // To the other rows it adds zero, which avoids a branch for each row.
                let mask = T(truncatingIfNeeded: 0 &- (chosen >> UInt64(row) & 1))
                page.store(page.load(offset, as: T.self) &+ (step & mask), at: offset)
            }
            base += 64
        }
    }

    /// Appends rows of another leaf of the same layout. The caller has checked that there is room.
    func append(_ slots: [Int32], of source: TableLeaf) {
        let start = count
        page.count = start + slots.count
        for (n, slot) in slots.enumerated() { storeKey(source.key(Int(slot)), at: start + n) }
        for i in layout.columns.indices {
            let column = column(i)
            gatherBits(Int(column.nullBitmap), slots, source, to: start)
            if column.valueBitmap >= 0 {
                gatherBits(Int(column.valueBitmap), slots, source, to: start)
            } else if column.kind == ColumnKind.bytes.rawValue {
                gatherTexts(column, slots, source, to: start)
            } else {
                gather(column, slots, source, to: start)
            }
        }
    }

    private func gatherBits(_ bitmap: Int, _ slots: [Int32], _ source: TableLeaf, to start: Int) {
        let from = source.bitmapsStart + source.bitmapBytes * bitmap
        // Most bitmaps are all zero, because most columns have no nulls.
        var any: UInt64 = 0
        for offset in stride(from: from, to: from + source.bitmapBytes, by: 8) { any |= source.page.load(offset) }
        if any == 0 { return }
        for (n, slot) in slots.enumerated() where source.bit(bitmap, Int(slot)) { setBit(bitmap, start + n, true) }
    }

    private func gather(_ column: PhysicalColumn, _ slots: [Int32], _ source: TableLeaf, to start: Int) {
        let from = source.cellOffset(column, 0)
        let to = cellOffset(column, start)
        func copy<T: BitwiseCopyable>(_ type: T.Type) {
            let width = MemoryLayout<T>.size
            for (n, slot) in slots.enumerated() {
                page.store(source.page.load(from + Int(slot) * width, as: T.self), at: to + n * width)
            }
        }
        switch column.width {
        case 8: copy(UInt64.self)
        case 4: copy(UInt32.self)
        case 2: copy(UInt16.self)
        case 1: copy(UInt8.self)
        default: for (n, slot) in slots.enumerated() { page.copy(16, from: source.page, at: from + Int(slot) * 16, to: to + n * 16) }
        }
    }

    private func gatherTexts(_ column: PhysicalColumn, _ slots: [Int32], _ source: TableLeaf, to start: Int) {
        let from = source.cellOffset(column, 0)
        let to = cellOffset(column, start)
        for (n, slot) in slots.enumerated() {
            let cell: UInt32 = source.page.load(from + Int(slot) * 4)
            // A cell without bytes, for null or an empty text, needs no space in the heap.
            let length = Int(cell >> 16 & ~UInt32(BlobCell.flag))
            guard length > 0 else {
                page.store(cell & 0xFFFF_0000, at: to + n * 4)
                continue
            }
            let heap = page.pushHeap(length)
            page.copy(length, from: source.page, at: Int(cell & 0xFFFF), to: heap)
            page.store(cell & 0xFFFF_0000 | UInt32(heap), at: to + n * 4)
        }
    }
}
