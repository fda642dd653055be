// Reading one cell of one row: the way of property getters. No closure, no generic parameter and no reference
// count crosses the module's border, and the answer is a plain value.
//
// A location is believed when it was seen in this version and its frame still holds what it held (TableView.leaf).

internal import CMembarrier
import Glibc
import Synchronization

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

    /// Finds out where the row of a key lies, and has its cells fetched into the cache; false when there is none.
    package func find(_ key: UInt64, at location: inout RowLocation) throws(EngineError) -> Bool {
        if let isThere = withLeaf(of: key, { leaf, slot in
            guard let slot else { return false }
            leaf.touchAhead(slot)
            location = leaf.location(slot)
            return true
        }) { return isThere }
        var isThere = false
        try unsafe view.pointee.lendRow(key, at: &location) { _ in isThere = true }
        return isThere
    }

    /// The same for a row that is wanted only if its text cell is this one; false for another one, too.
    package func find(
        _ key: UInt64, at location: inout RowLocation, where column: Int, is text: UnsafeRawBufferPointer
    ) throws(EngineError) -> Bool {
        guard try find(key, at: &location) else { return false }
        if let isSame = withRow(at: location, { unsafe $0.isText(column, text) }) { return isSame }
        var isSame = false
        try unsafe view.pointee.lendRow(key, at: &location) { row throws(EngineError) in
            isSame = unsafe try row.withBytes(column) { bytes throws(EngineError) in
                unsafe !row.isNull(column) && bytes.elementsEqual(text)
            }
        }
        return isSame
    }

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

    /// Lends the bytes of a variable cell as they are, nil for null; false when there is no row. Updates the location.
    package func lendText(
        _ key: UInt64, at location: inout RowLocation, _ column: Int, _ body: (UnsafeRawBufferPointer?) -> Void
    ) throws(EngineError) -> Bool {
        func lend(_ row: RowView) throws(EngineError) {
            if row.isNull(column) { return body(nil) }
            unsafe try row.withBytes(column) { bytes throws(EngineError) in unsafe body(bytes) }
        }
        if let done = withRow(at: location, { row in Result { () throws(EngineError) in try lend(row) } }) {
            try done.get()
            return true
        }
        var isThere = false
        try unsafe view.pointee.lendRow(key, at: &location) { row throws(EngineError) in
            isThere = true
            try lend(row)
        }
        return isThere
    }

    /// Lends the row at a location; nil when it cannot be believed.
    @inline(__always)
    private func withRow<R>(at location: RowLocation, _ body: (RowView) -> R) -> R? {
        guard saw(location) else { return nil }
        return unsafe pool._withUnsafeGuaranteedRef { pool -> R? in
            let epoch = pool.epochs.enter()
            defer { pool.epochs.leave(epoch) }
            guard pool.generation(location.frame) == location.generation, let leaf = leaf(pool, location.frame) else { return nil }
            return body(leaf.row(Int(location.slot)))
        }
    }

    /// Lends the leaf where a key belongs, and its slot, if it is there; nil when something on the way is not in memory, or
    /// not as it should be, which the view sees to.
    @inline(__always)
    private func withLeaf<R>(of key: UInt64, _ body: (LeafView, Int?) -> R) -> R? {
        guard !isEmpty else { return nil }
        return unsafe pool._withUnsafeGuaranteedRef { pool -> R? in
            let epoch = pool.epochs.enter()
            defer { pool.epochs.leave(epoch) }
            guard let frame = unsafe view.pointee.root.knownLeaf(pool, key), unsafe pool.isVerified(frame, layouts),
                let leaf = leaf(pool, frame)
            else { return nil }
            let (slot, found) = TableLeaf.find(leaf.page, key)
            return body(leaf, found ? slot : nil)
        }
    }

    @inline(__always)
    private func leaf(_ pool: FramePool, _ frame: UInt32) -> LeafView? {
        unsafe layouts._withUnsafeGuaranteedRef { LeafView(pool, frame, $0, transaction: transaction) }
    }
}

extension FramePool {
    /// True when the frame is known to hold a leaf that fits a table's layouts.
    @inline(__always)
    fileprivate func isVerified(_ frame: UInt32, _ layouts: Unmanaged<TableLayouts>) -> Bool {
        let serial = unsafe infos[Int(frame)].verifiedFor.load(ordering: .acquiring)
        return unsafe serial == .max || serial == layouts._withUnsafeGuaranteedRef { $0.serial }
    }
}

extension TreeRoot {
    /// The leaf where a key belongs, if all on the way to it is in memory and the version is not given up. Inside an epoch.
    @inline(__always)
    fileprivate func knownLeaf(_ pool: FramePool, _ key: UInt64) -> UInt32? {
        if let version = unsafe version, unsafe version._withUnsafeGuaranteedRef({ $0.isExpired }) { return nil }
        var frame = reference.frame
        if !reference.isInMemory {
            frame = hint.frame.load(ordering: .relaxed)
            guard frame != 0, pool.holds(frame, reference.address) else { return nil }
        }
        while true {
            let page = pool.page(frame)
            if page.level == 0 { return page.kind == NodeKind.tableLeaf.rawValue ? frame : nil }
            let node = SlottedNode(page)
            guard let child = pool.knownChild(node, node.childIndex(forHead: key)) else { return nil }
            frame = child
        }
    }
}

extension LeafView {
    /// Has the cells of a row fetched into the cache together, so that reading them does not wait for one after the other.
    @inline(__always)
    fileprivate func touchAhead(_ slot: Int) {
        let current = unsafe layouts._withUnsafeGuaranteedRef { $0.columnCount }
        unsafe fetch_line(page.base + bitmapsStart + slot >> 3)
        for column in 0..<min(current, 12) {
            let c = unsafe columns[column]
            guard !c.isAbsent else { continue }
            unsafe fetch_line(page.base + bitmapsStart + bitmapBytes * Int(c.nullBitmap) + slot >> 3)
            unsafe fetch_line(page.base + columnsStart + capacity * Int(c.fixedBefore) + slot * Int(c.width))
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
    /// True when the cell is in the leaf and holds these bytes; false, too, when it lies elsewhere.
    @inline(__always)
    fileprivate func isText(_ column: Int, _ text: UnsafeRawBufferPointer) -> Bool {
        guard !isNull(column), let bytes = unsafe leaf.bytesInLeaf(column, slot), bytes.count == text.count else { return false }
        guard let start = text.baseAddress else { return true }
        return unsafe memcmp(bytes.baseAddress!, start, text.count) == 0
    }

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
