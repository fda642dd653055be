// Copies selected rows of a leaf column by column.

extension TableLeaf {
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
