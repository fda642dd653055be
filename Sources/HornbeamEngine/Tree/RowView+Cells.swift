// Prefetching and reading the cells of one row, for the readers of single cells.

internal import CSystem
import Glibc

extension LeafView {
    /// Prefetches some cells of a row together, so that their cache misses overlap. `wanted` has a bit for each of the first 64 columns.
    @inline(__always)
    func prefetchCells(of slot: Int, _ wanted: UInt64) {
        var rest = wanted
        while rest != 0 {
            let c = unsafe columns[rest.trailingZeroBitCount]
            rest &= rest &- 1
            guard !c.isAbsent else { continue }
            if c.nullBitmap >= 16 || bitmaps >> UInt16(truncatingIfNeeded: c.nullBitmap) & 1 != 0 {
                unsafe prefetch_line(page.base + (bitmapsStart + bitmapBytes * Int(c.nullBitmap) + slot >> 3))
            }
            if c.valueBitmap >= 0 {
                unsafe prefetch_line(page.base + (bitmapsStart + bitmapBytes * Int(c.valueBitmap) + slot >> 3))
            } else {
                unsafe prefetch_line(page.base + (columnsStart + capacity * Int(c.fixedBefore) + slot * Int(c.width)))
            }
        }
    }
}

extension RowView {
    /// The distance, in rows, between a read cell and the prefetched cell. It is long enough for the memory access.
    private static let rowsAhead = 8

    /// Prefetches the cell of a later row. Callers change reference counts between two reads, which waits for all outstanding loads. So without
    /// prefetching, the cache misses of different rows would not overlap.
    @inline(__always)
    func prefetchNeighbour(_ column: Int) {
        let next = slot + RowView.rowsAhead
        let c = unsafe leaf.columns[column]
        guard next < leaf.count, !c.isAbsent, c.valueBitmap < 0 else { return }
        let offset = leaf.columnsStart + leaf.capacity * Int(c.fixedBefore) + next * Int(c.width)
        guard c.kind == ColumnKind.bytes.rawValue else { return unsafe prefetch_line(leaf.page.base + offset) }
        unsafe prefetch_line(leaf.page.base + Int(leaf.page.load(offset, as: UInt16.self)))
    }

    /// Prefetches the cells of some of the first 64 columns. `columns` has a bit for each column.
    package func prefetchCells(_ columns: UInt64) { leaf.prefetchCells(of: slot, columns) }

    /// Prefetches the texts of some of the first 64 columns, which must be variable. Reads the cells with the offsets of the texts.
    @inline(__always)
    package func prefetchTexts(_ columns: UInt64) {
        var rest = columns
        while rest != 0 {
            prefetchText(rest.trailingZeroBitCount)
            rest &= rest &- 1
        }
    }

    /// Prefetches the first and the last cache line of a text, unless it is a blob.
    @inline(__always)
    private func prefetchText(_ column: Int) {
        guard let bytes = unsafe leaf.bytesInLeaf(column, slot), let start = bytes.baseAddress else { return }
        unsafe prefetch_line(start)
        unsafe prefetch_line(start + max(bytes.count - 1, 0))
    }

    /// True if the cell has these bytes; false also for a blob.
    @inline(__always)
    func isText(_ column: Int, _ text: UnsafeRawBufferPointer) -> Bool {
        guard !isNull(column), let bytes = unsafe leaf.bytesInLeaf(column, slot), bytes.count == text.count else { return false }
        guard let start = text.baseAddress else { return true }
        return unsafe memcmp(bytes.baseAddress!, start, text.count) == 0
    }

    @inline(__always)
    func textCell(_ column: Int) throws(EngineError) -> TextCell {
        isNull(column) ? .null : .text(try string(column))
    }

    @inline(__always)
    func fixedCell(_ column: Int) -> FixedCell {
        if isNull(column) { return FixedCell(.null) }
        let c = unsafe leaf.columns[column]
        if c.valueBitmap >= 0 || c.kind == ColumnKind.bit.rawValue { return FixedCell(.value, bit(column) ? 1 : 0) }
        if c.isAbsent { return FixedCell(.value, fixedFill(column)) }
        return FixedCell(.value, number(c))
    }

    /// The bits of a fixed cell; nil for a null and for a column that the leaf lacks.
    @inline(__always)
    func plainCell(_ column: Int) -> UInt64? {
        let c = unsafe leaf.columns[column]
        if c.isAbsent || bit(bitmap: c.nullBitmap) { return nil }
        if c.valueBitmap >= 0 { return bit(bitmap: c.valueBitmap) ? 1 : 0 }
        return number(c)
    }

    @inline(__always)
    private func number(_ c: PhysicalColumn) -> UInt64 {
        let offset = leaf.columnsStart + leaf.capacity * Int(c.fixedBefore) + slot * Int(c.width)
        return switch c.width {
        case 8: leaf.page.load(offset, as: UInt64.self)
        case 4: UInt64(leaf.page.load(offset, as: UInt32.self))
        case 2: UInt64(leaf.page.load(offset, as: UInt16.self))
        default: UInt64(leaf.page.load(offset, as: UInt8.self))
        }
    }
}

/// The place of a fixed cell of one to eight bytes that is read later. Valid inside the epoch in which it was made.
struct FixedCellPlace {
    private let page: Page
    private let start: Int32
    /// The byte with the bit of the row in the null bitmap; -1 if the leaf has no null in the column.
    private let nulls: Int32
    private let nullBit: UInt8
    private let width: UInt8

    /// Prefetches the cell. Nil for a cell of another kind.
    @inline(__always)
    init?(_ row: RowView, _ column: Int) {
        let leaf = row.leaf
        let c = unsafe leaf.columns[column]
        guard !c.isAbsent, c.valueBitmap < 0, c.kind != ColumnKind.bytes.rawValue, c.width > 0, c.width <= 8 else { return nil }
        let start = leaf.columnsStart + leaf.capacity * Int(c.fixedBefore) + row.slot * Int(c.width)
        let mayBeNull = c.nullBitmap >= 16 || leaf.bitmaps >> UInt16(truncatingIfNeeded: c.nullBitmap) & 1 != 0
        let nulls = mayBeNull ? leaf.bitmapsStart + leaf.bitmapBytes * Int(c.nullBitmap) + row.slot >> 3 : -1
        page = leaf.page
        self.start = Int32(truncatingIfNeeded: start)
        self.nulls = Int32(truncatingIfNeeded: nulls)
        nullBit = UInt8(truncatingIfNeeded: row.slot & 7)
        width = UInt8(truncatingIfNeeded: c.width)
        unsafe prefetch_line(page.base + start)
        if nulls >= 0 { unsafe prefetch_line(page.base + nulls) }
    }

    @inline(__always)
    var cell: FixedCell {
        if nulls >= 0, page.load(Int(nulls), as: UInt8.self) >> nullBit & 1 == 1 { return FixedCell(.null) }
        let start = Int(start)
        let bits: UInt64 = switch width {
        case 8: page.load(start, as: UInt64.self)
        case 4: UInt64(page.load(start, as: UInt32.self))
        case 2: UInt64(page.load(start, as: UInt16.self))
        default: UInt64(page.load(start, as: UInt8.self))
        }
        return FixedCell(.value, bits)
    }
}
