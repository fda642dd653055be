// Reads single cells of rows, for property getters. No closure, no generic parameter and no reference count crosses the module's border,
// and the result is a plain value.
//
// A location is valid if it comes from this version and its frame still holds the same content (TableView.leaf). If the frame's header is
// cached (CachedLeafHeader), the page's header is not read, so the cells are the first cache miss.

internal import CSystem
import Glibc
import Synchronization

/// The result of reading a fixed cell.
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

/// The result of reading a text cell.
package enum TextCell: Sendable {
    case noRow, null
    /// The text; invalid UTF-8 is repaired.
    case text(String)
}

/// Bytes of a page, lent without a closure. They stay unchanged until the thread that borrowed them returns them.
///
/// Three words, which are passed in registers.
@safe package struct BorrowedBytes {
    package let start: UnsafeRawPointer
    package let count: Int
    /// The reader's epoch cell; nil inside another read.
    package let reader: UnsafeMutableRawPointer?

    package static func giveBack(_ reader: UnsafeMutableRawPointer?) {
        unsafe reader?.assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(0, ordering: .releasing)
    }
}

/// A table of one version, read cell by cell without counting references. An object, so that a call passes one word.
@safe package final class TableCells: Sendable {
    private let view: TableView
    private let pool: Unmanaged<FramePool>  // the view holds it
    private let layouts: Unmanaged<TableLayouts>  // the view holds it
    private let transaction: UInt64
    private let isEmpty: Bool
    private let leaves: LeafHintCache
    /// The variable columns among the first 64.
    private let texts: UInt64
    /// The columns read so far, of the first 64. Only these are prefetched.
    private let columnsRead = Atomic<UInt64>(0)
    /// The predicted offsets of texts, for the first two columns, among the first 64, that are read one by one.
    private let firstPredictor = TextOffsetPredictor()
    private let secondPredictor = TextOffsetPredictor()
    private let pageSize: Int
    /// Bytes of a row in the arrays of a leaf, without bitmaps.
    private let bytesPerRow: Int

    /// - Parameter usesMin: The lookup from which on leaves are remembered.
    package init(_ view: TableView, rememberingLeavesFrom usesMin: Int = 256) {
        self.view = view
        unsafe pool = unsafe .passUnretained(view.root.pool)
        unsafe layouts = unsafe .passUnretained(view.layouts)
        transaction = view.transaction
        pageSize = view.root.pool.pageSize
        bytesPerRow = view.layouts.current.fixedPerRow
        isEmpty = view.root.reference.isEmpty
        leaves = LeafHintCache(rows: view.count, usesMin: usesMin)
        texts = view.layout.columns.enumerated().reduce(0) { $1.element.kind == .bytes ? $0 | TableCells.bit($1.offset) : $0 }
    }

    private static func bit(_ column: Int) -> UInt64 { column < 64 ? 1 << UInt64(column) : 0 }

    /// True when the location comes from this version, so that the row exists whether or not its frame is still valid.
    @inline(__always)
    package func saw(_ location: RowLocation) -> Bool { location.isOf(transaction) }

    // MARK: Looking up

    /// Locates the row of a key and prefetches its cells; false when there is no row.
    package func find(_ key: UInt64, at location: inout RowLocation) throws(EngineError) -> Bool {
        if let isThere = findKnown(key, at: &location) { return isThere }
        var isThere = false
        try view.lendRow(key, at: &location) { _ in isThere = true }
        return isThere
    }

    /// Nil when a page on the way is not in memory, or not as expected; the view handles these cases.
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

    /// Finds a key in a remembered leaf; false where a walk is necessary.
    @inline(__always)
    private func find(_ pool: FramePool, rememberedFor key: UInt64, at location: inout RowLocation) -> Bool {
        guard let frame = leaves.frame(near: key, pool) else { return false }
        if find(pool, frame, key, at: &location) { return true }
        guard let cachedHeader = pool.cachedHeader(frame), let other = leaves.frame(near: LeafHintCache.neighbour(of: key, beside: cachedHeader), pool) else {
            return false
        }
        return find(pool, other, key, at: &location)
    }

    /// Finds a key in a leaf of consecutive keys with a cached header; false if the leaf must be searched, or lacks the key.
    @inline(__always)
    private func find(_ pool: FramePool, _ frame: UInt32, _ key: UInt64, at location: inout RowLocation) -> Bool {
        guard let cachedHeader = pool.cachedHeader(frame), let slot = cachedHeader.slot(key), let leaf = leaf(pool, frame, cachedHeader) else { return false }
        leaf.touchAhead(slot, columnsRead.load(ordering: .relaxed))
        let place = TextOffsetPredictor.Place(slot: slot, of: leaf.count)
        let arraysEnd = unsafe UnsafeRawPointer(leaf.page.base) + leaf.columnsStart + leaf.capacity * bytesPerRow
        let pageEnd = unsafe UnsafeRawPointer(leaf.page.base) + pageSize
        unsafe firstPredictor.fetchAhead(place, arraysEnd, pageEnd)
        unsafe secondPredictor.fetchAhead(place, arraysEnd, pageEnd)
        location = leaf.location(slot)
        return true
    }

    /// Searches the keys of a leaf.
    @inline(never)
    private func search(_ pool: FramePool, _ frame: UInt32, _ key: UInt64, at location: inout RowLocation) -> Bool? {
        guard pool.page(frame).kind == NodeKind.tableLeaf.rawValue, let leaf = leaf(pool, frame) else { return nil }
        let (slot, found) = TableLeaf.find(leaf.page, key)
        guard found else { return false }
        leaf.touchAhead(slot, columnsRead.load(ordering: .relaxed))
        location = leaf.location(slot)
        return true
    }

    /// The columns whose texts are usually read and were not prefetched by the lookup.
    @inline(__always)
    private var textsToFetch: UInt64 {
        columnsRead.load(ordering: .relaxed) & texts & ~(firstPredictor.sureColumn | secondPredictor.sureColumn)
    }

    /// Prefetches the usually read texts of a row that was looked up. Best called some time after the lookup: the cell with the text's offset
    /// must have arrived.
    package func fetchTexts(at location: RowLocation) {
        let wanted = textsToFetch
        guard wanted != 0 else { return }
        _ = withRow(at: location) { $0.touchTexts(wanted) }
    }

    /// True if the row of a key, found at the location, has this text in a column. False, too, where the text lies outside the leaf.
    /// Prefetches the usually read texts.
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

    /// The bits of a cell of at most eight bytes that is not null and lies at its location; nil: use `fixedCell`.
    package func plainCell(at location: RowLocation, _ column: Int) -> UInt64? {
        note(column)
        return withRow(at: location) { row in
            if location.hasNeighbours { row.fetchNeighbour(column) }
            let cell = row.fixedCell(column)
            return cell.state == .value ? cell.bits : nil
        } ?? nil
    }

    /// A text in the leaf at its location; nil: use `textCell`.
    package func plainText(at location: RowLocation, _ column: Int) -> String? {
        note(column)
        return withRow(at: location) { row in
            if location.hasNeighbours { row.fetchNeighbour(column) }
            guard !row.isNull(column), let bytes = unsafe row.leaf.bytesInLeaf(column, row.slot) else { return nil }
            if !location.hasNeighbours { unsafe learn(column, row, bytes) }
            return unsafe String(decoding: bytes, as: UTF8.self)
        } ?? nil
    }

    /// Updates the prediction with the offset of a text.
    @inline(__always)
    private func learn(_ column: Int, _ row: RowView, _ bytes: UnsafeRawBufferPointer) {
        guard column < 64, bytes.count > 0, let start = bytes.baseAddress else { return }
        let offset = unsafe start - UnsafeRawPointer(row.leaf.page.base) - row.leaf.columnsStart - row.leaf.capacity * bytesPerRow
        let place = TextOffsetPredictor.Place(slot: row.slot, of: row.leaf.count)
        if !firstPredictor.learn(column, place, offset) { _ = secondPredictor.learn(column, place, offset) }
    }

    /// Lends a text in the leaf at its location, until it is returned; nil: use `lendText`.
    package func borrowText(at location: RowLocation, _ column: Int) -> BorrowedBytes? {
        note(column)
        guard saw(location) else { return nil }
        return unsafe pool._withUnsafeGuaranteedRef { pool -> BorrowedBytes? in
            let epoch = pool.epochs.enter()
            let frame = location.frame
            if pool.generation(frame) == location.generation, let cachedHeader = pool.cachedHeader(frame), let leaf = leaf(pool, frame, cachedHeader) {
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

    /// A cell of at most eight bytes, read at the row's location first; updates the location.
    package func fixedCell(
        _ key: UInt64, at location: inout RowLocation, _ column: Int
    ) throws(EngineError) -> FixedCell {
        note(column)
        if let cell = withRow(at: location, { $0.fixedCell(column) }) { return cell }
        var cell = FixedCell(.noRow)
        try view.lendRow(key, at: &location) { row throws(EngineError) in cell = row.fixedCell(column) }
        return cell
    }

    /// The text of a variable cell, read at the row's location first; updates the location.
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

    /// Lends the bytes of a variable cell, nil for null; false when there is no row. Updates the location.
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

    /// Adds a column to the columns read.
    @inline(__always)
    private func note(_ column: Int) {
        let bit = TableCells.bit(column)
        if columnsRead.load(ordering: .relaxed) & bit != bit { columnsRead.bitwiseOr(bit, ordering: .relaxed) }
    }

    // MARK: Leaves

    /// Lends the row at a location; nil when the location is not valid.
    @inline(__always)
    private func withRow<R>(at location: RowLocation, _ body: (RowView) -> R) -> R? {
        guard saw(location) else { return nil }
        return unsafe pool._withUnsafeGuaranteedRef { pool -> R? in
            let epoch = pool.epochs.enter()
            defer { pool.epochs.leave(epoch) }
            let frame = location.frame
            guard pool.generation(frame) == location.generation else { return nil }
            if let cachedHeader = pool.cachedHeader(frame), let leaf = leaf(pool, frame, cachedHeader) { return body(leaf.row(location.slot)) }
            return leaf(pool, frame).map { body($0.row(location.slot)) }
        }
    }

    @inline(__always)
    private func leaf(_ pool: FramePool, _ frame: UInt32, _ cachedHeader: CachedLeafHeader) -> LeafView? {
        unsafe layouts._withUnsafeGuaranteedRef { LeafView(pool, frame, cachedHeader, $0, transaction: transaction) }
    }

    /// A leaf without a cached header.
    @inline(never)
    private func leaf(_ pool: FramePool, _ frame: UInt32) -> LeafView? {
        unsafe layouts._withUnsafeGuaranteedRef { layouts in
            guard let leaf = LeafView(pool, frame, layouts, transaction: transaction) else { return nil }
            leaf.cacheHeader()
            return leaf
        }
    }
}

extension FramePool {
    /// True when the frame was verified to hold a leaf of a table's layouts.
    @inline(__always)
    fileprivate func isVerified(_ frame: UInt32, _ layouts: Unmanaged<TableLayouts>) -> Bool {
        let serial = unsafe infos[Int(frame)].verifiedFor.load(ordering: .acquiring)
        return unsafe serial == .max || serial == layouts._withUnsafeGuaranteedRef { $0.serial }
    }
}

extension TreeRoot {
    /// The leaf where a key belongs, if all pages on the way are in memory. Does not check the kind of the leaf, which may be wrong in a
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
    /// Prefetches some cells of a row together, so that their cache misses overlap.
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
    /// True for a location from the version of that number.
    @inline(__always)
    func isOf(_ transaction: UInt64) -> Bool {
        frame != 0 && transaction != TableView.noTransaction && self.transaction == UInt32(truncatingIfNeeded: transaction)
    }
}

extension RowView {
    /// The distance, in rows, at which cells are prefetched: a row is read when its memory has arrived.
    private static let rowsAhead = 8

    /// Prefetches the cell of a later row. Counting a reference between two reads waits for all outstanding loads, so the misses of one row
    /// would not overlap with those of the next.
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

    /// Prefetches the first and the last line of a text, if it lies in the leaf.
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
