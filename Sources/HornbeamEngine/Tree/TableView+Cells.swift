// Reading one cell of one row: the way of property getters. No closure, no generic parameter and no reference
// count crosses the module's border, and the answer is a plain value.
//
// A location is believed when it was seen in this version and its frame still holds what it held (TableView.leaf).

/// What a read of a fixed cell found.
package struct FixedCell: Sendable {
    package enum State: UInt8, Sendable { case noRow, null, value }

    package let state: State
    /// The cell, little-endian, with zeros above its width; 0 or 1 of a bit column.
    package let bits: UInt64

    init(_ state: State, _ bits: UInt64 = 0) {
        self.state = state
        self.bits = bits
    }
}

/// What a read of a text cell found.
package enum TextCell: Sendable {
    case noRow, null
    /// The text; invalid UTF-8 is repaired.
    case text(String)
}

/// A table of one version, read a cell at a time without counting references. Valid while its `TableView` is where it was.
@safe package struct TableCells: Sendable {
    nonisolated(unsafe) private let view: UnsafePointer<TableView>  // read only; the caller keeps it
    private let pool: Unmanaged<FramePool>  // the view holds it
    private let layouts: Unmanaged<TableLayouts>  // the view holds it
    private let transaction: UInt64
    private let isEmpty: Bool

    package init(_ view: UnsafePointer<TableView>) {
        unsafe self.view = unsafe view
        unsafe pool = unsafe .passUnretained(view.pointee.root.pool)
        unsafe layouts = unsafe .passUnretained(view.pointee.layouts)
        transaction = unsafe view.pointee.transaction
        isEmpty = unsafe view.pointee.root.reference.isEmpty
    }

    /// True when the location was seen in this version, so that there is a row whether or not it is still there.
    @inline(__always)
    package func saw(_ location: RowLocation) -> Bool { location.isOf(transaction) }

    /// A cell of at most eight bytes, looked for first where its row was seen last; updates the location.
    package func fixedCell(
        _ key: UInt64, at location: inout RowLocation, _ column: Int
    ) throws(EngineError) -> FixedCell {
        if let cell = withRow(at: location, { $0.fixedCell(column) }) { return cell }
        var cell = FixedCell(.noRow)
        try unsafe view.pointee.lendRow(key, at: &location) { row throws(EngineError) in cell = row.fixedCell(column) }
        return cell
    }

    /// The text of a variable cell, looked for first where its row was seen last; updates the location.
    package func textCell(
        _ key: UInt64, at location: inout RowLocation, _ column: Int
    ) throws(EngineError) -> TextCell {
        if let cell = withRow(at: location, { row in Result { () throws(EngineError) in try row.textCell(column) } }) {
            return try cell.get()
        }
        var cell = TextCell.noRow
        try unsafe view.pointee.lendRow(key, at: &location) { row throws(EngineError) in cell = try row.textCell(column) }
        return cell
    }

    /// Lends the row at a location; nil when it cannot be believed.
    @inline(__always)
    private func withRow<R>(at location: RowLocation, _ body: (RowView) -> R) -> R? {
        guard saw(location) else { return nil }
        return unsafe pool._withUnsafeGuaranteedRef { pool -> R? in
            let epoch = pool.epochs.enter()
            defer { pool.epochs.leave(epoch) }
            guard pool.generation(location.frame) == location.generation,
                let leaf = unsafe layouts._withUnsafeGuaranteedRef({
                    LeafView(pool, location.frame, $0, transaction: transaction)
                })
            else { return nil }
            return body(leaf.row(Int(location.slot)))
        }
    }
}

extension RowLocation {
    /// True when it was seen in the version of that number.
    @inline(__always)
    func isOf(_ transaction: UInt64) -> Bool {
        frame != 0 && transaction != TableView.noTransaction && self.transaction == UInt32(truncatingIfNeeded: transaction)
    }
}

extension RowView {
    @inline(__always)
    fileprivate func textCell(_ column: Int) throws(EngineError) -> TextCell {
        isNull(column) ? .null : .text(try string(column))
    }

    @inline(__always)
    fileprivate func fixedCell(_ column: Int) -> FixedCell {
        if isNull(column) { return FixedCell(.null) }
        let c = unsafe leaf.columns[column]
        if c.valueBitmap >= 0 || c.kind == ColumnKind.bit.rawValue { return FixedCell(.value, bit(column) ? 1 : 0) }
        if c.isAbsent { return FixedCell(.value, fixedFill(column)) }
        let offset = leaf.columnsStart + leaf.capacity * Int(c.fixedBefore) + slot * Int(c.width)
        let bits: UInt64 = switch c.width {
        case 8: leaf.page.load(offset, as: UInt64.self)
        case 4: UInt64(leaf.page.load(offset, as: UInt32.self))
        case 2: UInt64(leaf.page.load(offset, as: UInt16.self))
        default: UInt64(leaf.page.load(offset, as: UInt8.self))
        }
        return FixedCell(.value, bits)
    }
}
