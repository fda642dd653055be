// Sets cells of many rows of a leaf: in place, or while their rows are copied to a new leaf.

/// The change of one column in all selected rows.
package enum ColumnChange: Sendable {
    /// Adds a number to integers of 1, 2, 4 or 8 bytes. Overflow wraps around; null stays null.
    case add(column: Int, step: Int64)
    /// Sets the cells of all rows to these bytes; nil for null.
    case set(column: Int, cell: [UInt8]?)

    package var column: Int {
        switch self {
        case .add(let column, _), .set(let column, _): column
        }
    }
}

/// Changes of columns in those rows of a leaf whose bits are set.
struct CellChanges {
    let fixed: [ColumnChange]
    /// The new cells of variable columns; nil for null.
    let variable: [(column: Int, cell: [UInt8]?)]
    var bits: ArraySlice<UInt64> = []

    init(_ changes: [ColumnChange], of columns: [Column]) {
        fixed = changes.filter { columns[$0.column].kind != .bytes }
        variable = changes.compactMap { change in
            if case .set(let column, let cell) = change, columns[column].kind == .bytes { (column, cell) } else { nil }
        }
    }

    /// The same changes in other rows.
    func inRows(_ bits: ArraySlice<UInt64>) -> CellChanges {
        var changes = self
        changes.bits = bits
        return changes
    }
}

extension TableLeaf {
    /// The bytes that each row needs in the heap after changes of cells.
    func heapBytesOfRows(after changes: CellChanges) -> [Int] {
        var heaps = [Int](repeating: 0, count: count)
        for i in layout.variableColumns {
            // The cells of null have no bytes.
            for slot in 0..<count { heaps[slot] += variableCell(i, slot).length }
        }
        for (i, cell) in changes.variable {
            RowSelection.forEachBit(changes.bits) { heaps[$0] += (cell?.count ?? 0) - variableCell(i, $0).length }
        }
        return heaps
    }

    /// True if the heap has room for the cells that are longer than those that they replace.
    func hasRoom(for changes: CellChanges) -> Bool {
        var needed = 0
        for (i, cell) in changes.variable {
            guard let cell else { continue }
            RowSelection.forEachBit(changes.bits) { if cell.count > variableCell(i, $0).length { needed += cell.count } }
        }
        return needed <= page.heapStart - arraysEnd
    }

    /// The blobs of the cells that changes replace.
    func blobs(replacedBy changes: CellChanges) -> [PageReference] {
        var blobs: [PageReference] = []
        for (i, _) in changes.variable {
            RowSelection.forEachBit(changes.bits) { slot in
                let cell = variableCell(i, slot)
                if cell.isBlob { blobs.append(page.load(cell.start)) }
            }
        }
        return blobs
    }

    /// Changes cells in place. Variable cells that are not longer than before use the same bytes of the heap, which has room for the others.
    func apply(_ changes: CellChanges) {
        for change in changes.fixed { apply(change, changes.bits) }
        for (i, cell) in changes.variable {
            guard let cell else {
                RowSelection.forEachBit(changes.bits) { setNull(variable: i, $0) }
                continue
            }
            cell.withBorrowedBytes { bytes in
                RowSelection.forEachBit(changes.bits) { slot in
                    let old = variableCell(i, slot)
                    page.heapGarbage += old.length
                    setBit(Int(column(i).nullBitmap), slot, false)
                    writeVariableCell(bytes, isBlob: false, at: cellOffset(column(i), slot), reusing: (old.start, old.length))
                }
            }
        }
        assert(page.heapStart >= arraysEnd, "The arrays and the heap of a leaf do not overlap.")
    }

    private func setNull(variable i: Int, _ slot: Int) {
        page.heapGarbage += variableCell(i, slot).length
        setBit(Int(column(i).nullBitmap), slot, true)
        page.store(UInt32(0), at: cellOffset(column(i), slot))
    }

    /// Changes a fixed column of the rows whose bits are set.
    private func apply(_ change: ColumnChange, _ bits: ArraySlice<UInt64>) {
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

    // MARK: Copying

    /// Copies rows of another leaf of the same layout into this empty one, with changes of cells. The caller has checked that there is room.
    func append(_ slots: Range<Int>, of source: TableLeaf, with changes: CellChanges) {
        assert(count == 0 && source.layout === layout && slots.count <= capacity, "The rows and their changes are the only content of a new leaf.")
        page.count = slots.count
        for (n, slot) in slots.enumerated() { storeKey(source.key(slot), at: n) }
        let chosen = RowSelection.bits(changes.bits, slots)
        for i in layout.columns.indices {
            if let change = changes.variable.first(where: { $0.column == i }) {
                copyRest(of: i, from: source, slots, chosen)
                setVariable(i, chosen[...], change.cell)
            } else {
                copyColumn(i, from: source, i, slots, to: 0)
            }
        }
        for change in changes.fixed { apply(change, chosen[...]) }
    }

    /// Copies the cells of a variable column in the rows that are not chosen.
    private func copyRest(of i: Int, from source: TableLeaf, _ slots: Range<Int>, _ chosen: [UInt64]) {
        for (n, slot) in slots.enumerated() where chosen[n >> 6] >> UInt64(n & 63) & 1 == 0 {
            if source.isNull(i, slot) { setBit(Int(column(i).nullBitmap), n, true) } else { copyVariableCell(i, from: source, i, slot, to: n) }
        }
    }

    /// Sets the cells of a variable column in rows of a new leaf.
    private func setVariable(_ i: Int, _ bits: ArraySlice<UInt64>, _ cell: [UInt8]?) {
        guard let cell else { return RowSelection.forEachBit(bits) { setBit(Int(column(i).nullBitmap), $0, true) } }
        cell.withBorrowedBytes { bytes in
            RowSelection.forEachBit(bits) { writeVariableCell(bytes, isBlob: false, at: cellOffset(column(i), $0), reusing: (0, 0)) }
        }
    }
}
