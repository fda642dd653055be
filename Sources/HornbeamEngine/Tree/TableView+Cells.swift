// Reading one cell of one row: the way of property getters. No closure, no generic parameter and no reference
// count crosses the module's border, and the answer is a plain value.
//
// A location is believed when it was seen in this version and its frame still holds what it held (TableView.leaf). The leaf's
// header is not touched where the frame's brief is known (LeafBrief): the cells are the first that is waited for.

internal import CSystem
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

/// Bytes of a page that are lent without a closure: they stay what they are until they are given back, by the thread that took them.
///
/// Three words, which are handed on in registers.
@safe package struct BorrowedBytes {
    package let start: UnsafeRawPointer
    package let count: Int
    /// What says that the thread reads; nil inside of another read.
    package let reader: UnsafeMutableRawPointer?

    package static func giveBack(_ reader: UnsafeMutableRawPointer?) {
        unsafe reader?.assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(0, ordering: .releasing)
    }
}

/// A table of one version, read a cell at a time without counting references. An object, so that a call is handed one word.
@safe package final class TableCells: Sendable {
    private let view: TableView
    private let pool: Unmanaged<FramePool>  // the view holds it
    private let layouts: Unmanaged<TableLayouts>  // the view holds it
    private let transaction: UInt64
    private let isEmpty: Bool
    private let leaves: LeafMemory
    /// The variable columns among the first 64.
    private let texts: UInt64
    /// The columns that were read so far, of the first 64: those worth fetching ahead.
    private let columnsRead = Atomic<UInt64>(0)
    /// Where texts are likely to lie, of the first two columns among the first 64 that are read one by one.
    private let firstGuess = TextGuess()
    private let secondGuess = TextGuess()
    private let pageSize: Int
    /// What a row takes of the arrays of a leaf, without bitmaps.
    private let bytesPerRow: Int

    /// - Parameter usesMin: the look-up from which on leaves are remembered.
    package init(_ view: TableView, rememberingLeavesFrom usesMin: Int = 256) {
        self.view = view
        unsafe pool = unsafe .passUnretained(view.root.pool)
        unsafe layouts = unsafe .passUnretained(view.layouts)
        transaction = view.transaction
        pageSize = view.root.pool.pageSize
        bytesPerRow = view.layouts.current.fixedPerRow
        isEmpty = view.root.reference.isEmpty
        leaves = LeafMemory(rows: view.count, usesMin: usesMin)
        texts = view.layout.columns.enumerated().reduce(0) { $1.element.kind == .bytes ? $0 | TableCells.bit($1.offset) : $0 }
    }

    private static func bit(_ column: Int) -> UInt64 { column < 64 ? 1 << UInt64(column) : 0 }

    /// True when the location was seen in this version, so that there is a row whether or not it is still there.
    @inline(__always)
    package func saw(_ location: RowLocation) -> Bool { location.isOf(transaction) }

    // MARK: Looking up

    /// Finds out where the row of a key lies, and has its cells fetched into the cache; false when there is none.
    package func find(_ key: UInt64, at location: inout RowLocation) throws(EngineError) -> Bool {
        if let isThere = findKnown(key, at: &location) { return isThere }
        var isThere = false
        try view.lendRow(key, at: &location) { _ in isThere = true }
        return isThere
    }

    /// Nil when something on the way is not in memory, or not as it should be, which the view sees to.
    @inline(__always)
    private func findKnown(_ key: UInt64, at location: inout RowLocation) -> Bool? {
        guard !isEmpty else { return nil }
        return unsafe pool._withUnsafeGuaranteedRef { pool -> Bool? in
            let epoch = pool.epochs.enter()
            defer { pool.epochs.leave(epoch) }
            guard !view.root.isExpired else { return nil }
            if find(pool, rememberedFor: key, at: &location) { return true }
            guard let frame = view.root.knownLeaf(pool, key), unsafe pool.isVerified(frame, layouts) else { return nil }
            guard find(pool, frame, key, at: &location) else { return search(pool, frame, key, at: &location) }
            if transaction != TableView.noTransaction { leaves.note(key, frame, pool) }
            return true
        }
    }

    /// Finds a key in a leaf that was found before; false where there has to be a walk.
    @inline(__always)
    private func find(_ pool: FramePool, rememberedFor key: UInt64, at location: inout RowLocation) -> Bool {
        guard let frame = leaves.frame(near: key, pool) else { return false }
        if find(pool, frame, key, at: &location) { return true }
        guard let brief = pool.brief(frame), let other = leaves.frame(near: LeafMemory.neighbour(of: key, beside: brief), pool) else {
            return false
        }
        return find(pool, other, key, at: &location)
    }

    /// Finds a key in a leaf of consecutive keys whose brief is known; false where it has to be searched, or is not there.
    @inline(__always)
    private func find(_ pool: FramePool, _ frame: UInt32, _ key: UInt64, at location: inout RowLocation) -> Bool {
        guard let brief = pool.brief(frame), let slot = brief.slot(key), let leaf = leaf(pool, frame, brief) else { return false }
        leaf.touchAhead(slot, columnsRead.load(ordering: .relaxed))
        let place = TextGuess.Place(slot: slot, of: leaf.count)
        let arraysEnd = unsafe UnsafeRawPointer(leaf.page.base) + leaf.columnsStart + leaf.capacity * bytesPerRow
        let pageEnd = unsafe UnsafeRawPointer(leaf.page.base) + pageSize
        unsafe firstGuess.fetchAhead(place, arraysEnd, pageEnd)
        unsafe secondGuess.fetchAhead(place, arraysEnd, pageEnd)
        location = leaf.location(slot)
        return true
    }

    /// Looks for a key among those of a leaf.
    @inline(never)
    private func search(_ pool: FramePool, _ frame: UInt32, _ key: UInt64, at location: inout RowLocation) -> Bool? {
        guard pool.page(frame).kind == NodeKind.tableLeaf.rawValue, let leaf = leaf(pool, frame) else { return nil }
        let (slot, found) = TableLeaf.find(leaf.page, key)
        guard found else { return false }
        leaf.touchAhead(slot, columnsRead.load(ordering: .relaxed))
        location = leaf.location(slot)
        return true
    }

    /// The columns whose texts are read as a rule, and were not fetched ahead with the look-up.
    @inline(__always)
    private var textsToFetch: UInt64 {
        columnsRead.load(ordering: .relaxed) & texts & ~(firstGuess.sureColumn | secondGuess.sureColumn)
    }

    /// Has the texts of a row that was looked up fetched into the cache, those that are read as a rule. Better some time after the
    /// look-up: where they lie says a cell that is on its way then.
    package func fetchTexts(at location: RowLocation) {
        let wanted = textsToFetch
        guard wanted != 0 else { return }
        _ = withRow(at: location) { $0.touchTexts(wanted) }
    }

    /// True if the row of a key, which was found at the location, has this text in a column; false, too, where the text lies outside of
    /// the leaf. Has the texts fetched that are read as a rule.
    package func isText(
        _ key: UInt64, at location: inout RowLocation, _ column: Int, _ text: UnsafeRawBufferPointer
    ) throws(EngineError) -> Bool {
        note(column)
        let wanted = textsToFetch
        let isSame = withRow(at: location) { row in
            row.touchTexts(wanted)
            if let bytes = unsafe row.leaf.bytesInLeaf(column, row.slot) { unsafe learn(column, row, bytes) }
            return unsafe row.isText(column, text)
        }
        if let isSame { return isSame }
        var isIt = false
        try view.lendRow(key, at: &location) { row in isIt = unsafe row.isText(column, text) }
        return isIt
    }

    // MARK: Cells

    /// The bits of a cell of at most eight bytes that has a value and lies where it was seen; nil sends to `fixedCell`.
    package func plainCell(at location: RowLocation, _ column: Int) -> UInt64? {
        note(column)
        return withRow(at: location) { row in
            if location.hasNeighbours { row.fetchNeighbour(column) }
            let cell = row.fixedCell(column)
            return cell.state == .value ? cell.bits : nil
        } ?? nil
    }

    /// A text that lies in the leaf where it was seen; nil sends to `textCell`.
    package func plainText(at location: RowLocation, _ column: Int) -> String? {
        note(column)
        return withRow(at: location) { row in
            if location.hasNeighbours { row.fetchNeighbour(column) }
            guard !row.isNull(column), let bytes = unsafe row.leaf.bytesInLeaf(column, row.slot) else { return nil }
            if !location.hasNeighbours { unsafe learn(column, row, bytes) }
            return unsafe String(decoding: bytes, as: UTF8.self)
        } ?? nil
    }

    /// Takes note of where a text lies.
    @inline(__always)
    private func learn(_ column: Int, _ row: RowView, _ bytes: UnsafeRawBufferPointer) {
        guard column < 64, bytes.count > 0, let start = bytes.baseAddress else { return }
        let offset = unsafe start - UnsafeRawPointer(row.leaf.page.base) - row.leaf.columnsStart - row.leaf.capacity * bytesPerRow
        let place = TextGuess.Place(slot: row.slot, of: row.leaf.count)
        if !firstGuess.learn(column, place, offset) { _ = secondGuess.learn(column, place, offset) }
    }

    /// Lends a text that lies in the leaf where it was seen, until it is given back; nil sends to `lendText`.
    package func borrowText(at location: RowLocation, _ column: Int) -> BorrowedBytes? {
        note(column)
        guard saw(location) else { return nil }
        return unsafe pool._withUnsafeGuaranteedRef { pool -> BorrowedBytes? in
            let epoch = pool.epochs.enter()
            let frame = location.frame
            if pool.generation(frame) == location.generation, let brief = pool.brief(frame), let leaf = leaf(pool, frame, brief) {
                let row = leaf.row(location.slot)
                if location.hasNeighbours { row.fetchNeighbour(column) }
                if !row.isNull(column), let bytes = unsafe leaf.bytesInLeaf(column, location.slot), let start = bytes.baseAddress {
                    return unsafe BorrowedBytes(start: start, count: bytes.count, reader: UnsafeMutableRawPointer(epoch.cell))
                }
            }
            pool.epochs.leave(epoch)
            return nil
        }
    }

    /// A cell of at most eight bytes, looked for first where its row was seen last; updates the location.
    package func fixedCell(
        _ key: UInt64, at location: inout RowLocation, _ column: Int
    ) throws(EngineError) -> FixedCell {
        note(column)
        if let cell = withRow(at: location, { $0.fixedCell(column) }) { return cell }
        var cell = FixedCell(.noRow)
        try view.lendRow(key, at: &location) { row throws(EngineError) in cell = row.fixedCell(column) }
        return cell
    }

    /// The text of a variable cell, looked for first where its row was seen last; updates the location.
    package func textCell(
        _ key: UInt64, at location: inout RowLocation, _ column: Int
    ) throws(EngineError) -> TextCell {
        note(column)
        if let cell = withRow(at: location, { row in Result { () throws(EngineError) in try row.textCell(column) } }) {
            return try cell.get()
        }
        var cell = TextCell.noRow
        try view.lendRow(key, at: &location) { row throws(EngineError) in cell = try row.textCell(column) }
        return cell
    }

    /// Lends the bytes of a variable cell as they are, nil for null; false when there is no row. Updates the location.
    package func lendText(
        _ key: UInt64, at location: inout RowLocation, _ column: Int, _ body: (UnsafeRawBufferPointer?) -> Void
    ) throws(EngineError) -> Bool {
        func lend(_ row: RowView) throws(EngineError) {
            if row.isNull(column) { return body(nil) }
            if let bytes = unsafe row.leaf.bytesInLeaf(column, row.slot) { return unsafe body(bytes) }
            unsafe try row.withBytes(column) { bytes throws(EngineError) in unsafe body(bytes) }
        }
        note(column)
        if let done = withRow(at: location, { row in Result { () throws(EngineError) in try lend(row) } }) {
            try done.get()
            return true
        }
        var isThere = false
        try view.lendRow(key, at: &location) { row throws(EngineError) in
            isThere = true
            try lend(row)
        }
        return isThere
    }

    /// Remembers that a column is read.
    @inline(__always)
    private func note(_ column: Int) {
        let bit = TableCells.bit(column)
        if columnsRead.load(ordering: .relaxed) & bit != bit { columnsRead.bitwiseOr(bit, ordering: .relaxed) }
    }

    // MARK: Leaves

    /// Lends the row at a location; nil when it cannot be believed.
    @inline(__always)
    private func withRow<R>(at location: RowLocation, _ body: (RowView) -> R) -> R? {
        guard saw(location) else { return nil }
        return unsafe pool._withUnsafeGuaranteedRef { pool -> R? in
            let epoch = pool.epochs.enter()
            defer { pool.epochs.leave(epoch) }
            let frame = location.frame
            guard pool.generation(frame) == location.generation else { return nil }
            if let brief = pool.brief(frame), let leaf = leaf(pool, frame, brief) { return body(leaf.row(location.slot)) }
            return leaf(pool, frame).map { body($0.row(location.slot)) }
        }
    }

    @inline(__always)
    private func leaf(_ pool: FramePool, _ frame: UInt32, _ brief: LeafBrief) -> LeafView? {
        unsafe layouts._withUnsafeGuaranteedRef { LeafView(pool, frame, brief, $0, transaction: transaction) }
    }

    /// A leaf that nothing was known of yet.
    @inline(never)
    private func leaf(_ pool: FramePool, _ frame: UInt32) -> LeafView? {
        unsafe layouts._withUnsafeGuaranteedRef { layouts in
            guard let leaf = LeafView(pool, frame, layouts, transaction: transaction) else { return nil }
            leaf.keepBrief()
            return leaf
        }
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
    /// The leaf where a key belongs, if all on the way to it is in memory. Does not look at the leaf, which may be of another kind in a
    /// damaged file. Inside an epoch.
    @inline(__always)
    fileprivate func knownLeaf(_ pool: FramePool, _ key: UInt64) -> UInt32? {
        var frame = reference.frame
        if !reference.isInMemory {
            frame = hint.frame.load(ordering: .relaxed)
            guard frame != 0, pool.holds(frame, reference.address) else { return nil }
        }
        var level = pool.page(frame).level
        while level > 0 {
            let node = SlottedNode(pool.page(frame))
            guard let child = pool.knownChild(node, node.childIndex(forHead: key)) else { return nil }
            frame = child
            level -= 1
        }
        return frame
    }
}

extension LeafView {
    /// Has some cells of a row fetched into the cache together, so that reading them does not wait for one after the other.
    @inline(__always)
    fileprivate func touchAhead(_ slot: Int, _ wanted: UInt64) {
        var rest = wanted
        while rest != 0 {
            let c = unsafe columns[rest.trailingZeroBitCount]
            rest &= rest &- 1
            guard !c.isAbsent else { continue }
            if c.nullBitmap >= 16 || bitmaps >> UInt16(truncatingIfNeeded: c.nullBitmap) & 1 != 0 {
                unsafe fetch_line(page.base + (bitmapsStart + bitmapBytes * Int(c.nullBitmap) + slot >> 3))
            }
            if c.valueBitmap >= 0 {
                unsafe fetch_line(page.base + (bitmapsStart + bitmapBytes * Int(c.valueBitmap) + slot >> 3))
            } else {
                unsafe fetch_line(page.base + (columnsStart + capacity * Int(c.fixedBefore) + slot * Int(c.width)))
            }
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
    /// Rows ahead of the one that is read whose cells are fetched: they are read when the memory has answered.
    private static let rowsAhead = 8

    /// Has the cell of a row a little further on fetched. Whoever counts a reference between two reads waits for all memory that was asked
    /// for, so that the misses of one row do not overlap with those of the next by themselves.
    @inline(__always)
    fileprivate func fetchNeighbour(_ column: Int) {
        let next = slot + RowView.rowsAhead
        let c = unsafe leaf.columns[column]
        guard next < leaf.count, !c.isAbsent, c.valueBitmap < 0 else { return }
        let offset = leaf.columnsStart + leaf.capacity * Int(c.fixedBefore) + next * Int(c.width)
        guard c.kind == ColumnKind.bytes.rawValue else { return unsafe fetch_line(leaf.page.base + offset) }
        unsafe fetch_line(leaf.page.base + Int(leaf.page.load(offset, as: UInt16.self)))
    }

    @inline(__always)
    fileprivate func touchTexts(_ columns: UInt64) {
        var rest = columns
        while rest != 0 {
            touchText(rest.trailingZeroBitCount)
            rest &= rest &- 1
        }
    }

    /// Has the bytes of a text fetched, if they lie in the leaf: their first line and their last.
    @inline(__always)
    fileprivate func touchText(_ column: Int) {
        guard let bytes = unsafe leaf.bytesInLeaf(column, slot), let start = bytes.baseAddress else { return }
        unsafe fetch_line(start)
        unsafe fetch_line(start + max(bytes.count - 1, 0))
    }

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
