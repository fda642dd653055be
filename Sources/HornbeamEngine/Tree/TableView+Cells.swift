// Reads single cells of rows, for property getters. For speed, the calls between the modules use no closures, no generic parameters and no
// reference counts, and the results are plain values.
//
// A location is valid if it is of this version and its frame still has the same generation (TableView.leaf). If the frame's header is cached
// (CachedLeafHeader), the page's header is not read, so the first cache miss is that of the cells.

import Glibc
import Synchronization

/// Bytes of a page, valid until the same thread calls `endBorrowing` with `reader`. The type has three words, which are passed in registers.
@safe package struct BorrowedBytes {
    package let start: UnsafeRawPointer
    package let count: Int
    /// The thread's epoch cell; nil inside another read of the thread.
    package let reader: UnsafeMutableRawPointer?

    package static func endBorrowing(_ reader: UnsafeMutableRawPointer?) {
        unsafe reader?.assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(0, ordering: .releasing)
    }
}

/// A table of one version, for reading single cells without changing reference counts. It is a class, so that a call passes one word.
@safe package final class TableCells: Sendable {
    private let view: TableView
    private let pool: Unmanaged<FramePool>  // retained by the view
    private let layouts: Unmanaged<TableLayouts>  // retained by the view
    private let transaction: UInt64
    private let isEmpty: Bool
    private let leaves: LeafHintCache
    /// A bit for each variable column among the first 64.
    private let texts: UInt64
    /// A bit for each column among the first 64 that has been read. Only these columns are prefetched.
    private let columnsRead = Atomic<UInt64>(0)
    /// The predicted offsets of texts, for the first two text columns that are read.
    private let firstPredictor = TextOffsetPredictor()
    private let secondPredictor = TextOffsetPredictor()
    private let pageSize: Int
    /// Bytes of a row in the arrays of a leaf, without bitmaps.
    private let bytesPerRow: Int

    /// - Parameter usesMin: The number of lookups before the leaf hint cache is used.
    package init(_ view: TableView, cachingLeavesAfter usesMin: Int = 256) {
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

    /// The number of rows in the table.
    package var rowCount: Int { view.count }

    private static func bit(_ column: Int) -> UInt64 { column < 64 ? 1 << UInt64(column) : 0 }

    /// True if the location is of this version. Then the row exists, even if its frame is no longer valid.
    @inline(__always)
    package func isFromThisVersion(_ location: RowLocation) -> Bool { location.isOf(transaction) }

    // MARK: Looking up

    /// Sets the location of the row of a key and prefetches its cells. False if there is no row.
    package func find(_ key: UInt64, at location: inout RowLocation) throws(EngineError) -> Bool {
        if let isThere = findInMemory(key, at: &location) { return isThere }
        var isThere = false
        try view.readRow(key, at: &location) { _ in isThere = true }
        return isThere
    }

    /// Finds the row of a key and calls `body` with it; false if there is no row. Sets the location, which may be that of another row: near keys are
    /// often in the same leaf. Most rows are found there or by the leaf hint cache, without a descent.
    package func readRow(
        _ key: UInt64, at location: inout RowLocation, _ body: (RowView) throws(EngineError) -> Void
    ) throws(EngineError) -> Bool {
        let epoch = unsafe pool._withUnsafeGuaranteedRef { $0.epochs.enter() }
        defer { unsafe pool._withUnsafeGuaranteedRef { $0.epochs.leave(epoch) } }
        if !view.root.isExpired, let row = unsafe pool._withUnsafeGuaranteedRef({ row($0, key, beside: location) ?? hintedRow($0, key) }) {
            location = row.leaf.location(row.slot)
            try body(row)
            return true
        }
        location = RowLocation()
        guard try find(key, at: &location) else { return false }
        try view.readRow(key, at: &location, body)
        return true
    }

    /// Sets the locations of several rows, and prefetches their cells. Does not change the location of a missing row.
    package func find(_ keys: ArraySlice<UInt64>, at locations: inout [RowLocation]) throws(EngineError) {
        var start = keys.startIndex
        while start < keys.endIndex {
            let end = min(start + TreeWalk.leavesPerEpoch, keys.endIndex)
            // The reads of the rows need no epoch of their own.
            let epoch = unsafe pool._withUnsafeGuaranteedRef { $0.epochs.enter() }
            defer { unsafe pool._withUnsafeGuaranteedRef { $0.epochs.leave(epoch) } }
            let isExpired = view.root.isExpired
            for place in start..<end {
                let key = keys[place]
                let index = place - keys.startIndex
                // A near key is probably in the same leaf as the one before.
                if index > 0, !isExpired, key &- keys[place - 1] < TableCells.nearKeys {
                    let other = locations[index - 1]
                    if unsafe pool._withUnsafeGuaranteedRef({ find($0, key, beside: other, at: &locations[index]) }) { continue }
                }
                if !isExpired, unsafe pool._withUnsafeGuaranteedRef({ find($0, hintedFor: key, at: &locations[index]) }) { continue }
                _ = try find(key, at: &locations[index])
            }
            start = end
        }
    }

    private static let nearKeys: UInt64 = 64

    /// Finds a row by pages in memory only. Nil if a page on the path is not in memory or is not as expected; the caller then uses the view.
    @inline(__always)
    private func findInMemory(_ key: UInt64, at location: inout RowLocation) -> Bool? {
        guard !isEmpty else { return nil }
        return unsafe pool._withUnsafeGuaranteedRef { pool -> Bool? in
            let epoch = pool.epochs.enter()
            defer { pool.epochs.leave(epoch) }
            guard !view.root.isExpired else { return nil }
            if find(pool, hintedFor: key, at: &location) { return true }
            guard let frame = view.root.leafInMemory(pool, key), unsafe pool.isVerified(frame, layouts) else { return nil }
            guard find(pool, frame, key, at: &location) else { return search(pool, frame, key, at: &location) }
            if transaction != TableView.noTransaction { leaves.note(key, frame, pool) }
            return true
        }
    }

    /// Finds a key through the leaf hint cache. False if a walk is necessary.
    @inline(__always)
    private func find(_ pool: FramePool, hintedFor key: UInt64, at location: inout RowLocation) -> Bool {
        guard let frame = leaves.frame(near: key, pool) else { return false }
        if find(pool, frame, key, at: &location) { return true }
        guard let cachedHeader = pool.cachedHeader(frame), let other = leaves.frame(near: LeafHintCache.neighbour(of: key, beside: cachedHeader), pool) else {
            return false
        }
        return find(pool, other, key, at: &location)
    }

    /// Finds a key in the leaf of another row.
    @inline(__always)
    private func find(_ pool: FramePool, _ key: UInt64, beside other: RowLocation, at location: inout RowLocation) -> Bool {
        isIn(pool, other) && find(pool, other.frame, key, at: &location)
    }

    /// True if the location is of this version and its frame still has the same leaf.
    @inline(__always)
    private func isIn(_ pool: FramePool, _ location: RowLocation) -> Bool {
        isFromThisVersion(location) && pool.generation(location.frame) == location.generation
    }

    /// Finds a key in a leaf of consecutive keys with a cached header. False if there is no such header or the leaf lacks the key.
    @inline(__always)
    private func find(_ pool: FramePool, _ frame: UInt32, _ key: UInt64, at location: inout RowLocation) -> Bool {
        guard let cachedHeader = pool.cachedHeader(frame), let slot = cachedHeader.slot(key), let leaf = leaf(pool, frame, cachedHeader) else { return false }
        leaf.prefetchCells(of: slot, columnsRead.load(ordering: .relaxed))
        let place = TextOffsetPredictor.RowPosition(slot: slot, of: leaf.count)
        let arraysEnd = unsafe UnsafeRawPointer(leaf.page.base) + leaf.columnsStart + leaf.capacity * bytesPerRow
        let pageEnd = unsafe UnsafeRawPointer(leaf.page.base) + pageSize
        unsafe firstPredictor.prefetch(place, arraysEnd, pageEnd)
        unsafe secondPredictor.prefetch(place, arraysEnd, pageEnd)
        location = leaf.location(slot)
        return true
    }

    /// Searches the keys of a leaf.
    @inline(never)
    private func search(_ pool: FramePool, _ frame: UInt32, _ key: UInt64, at location: inout RowLocation) -> Bool? {
        guard pool.page(frame).kind == NodeKind.tableLeaf.rawValue, let leaf = leaf(pool, frame) else { return nil }
        let (slot, found) = TableLeaf.find(leaf.page, key)
        guard found else { return false }
        leaf.prefetchCells(of: slot, columnsRead.load(ordering: .relaxed))
        location = leaf.location(slot)
        return true
    }

    /// The text columns that have been read and that the lookup does not prefetch.
    @inline(__always)
    private var textsToPrefetch: UInt64 {
        columnsRead.load(ordering: .relaxed) & texts & ~(firstPredictor.reliableColumn | secondPredictor.reliableColumn)
    }

    /// Prefetches the texts of a row that was just looked up, for the columns that have been read. Called some time after the lookup, because it
    /// reads the cells with the texts' offsets.
    package func prefetchTexts(at location: RowLocation) {
        let wanted = textsToPrefetch
        guard wanted != 0 else { return }
        _ = withRow(at: location) { $0.prefetchTexts(wanted) }
    }

    /// True if a row has this text in a column; false also if its value is a blob. Reads the row at the location if that is valid, otherwise by
    /// its key. Prefetches the texts of the columns that have been read.
    package func isText(
        _ key: UInt64, at location: inout RowLocation, _ column: Int, _ text: UnsafeRawBufferPointer
    ) throws(EngineError) -> Bool {
        note(column)
        let wanted = textsToPrefetch
        let isSame = withRow(at: location) { row in
            row.prefetchTexts(wanted)
            if let bytes = unsafe row.leaf.bytesInLeaf(column, row.slot) { unsafe learn(column, row, bytes) }
            return unsafe row.isText(column, text)
        }
        if let isSame { return isSame }
        var isIt = false
        try view.readRow(key, at: &location) { row in isIt = unsafe row.isText(column, text) }
        return isIt
    }

    // MARK: Cells

    /// The bits of a cell of at most eight bytes. Nil if the cell is null or the location is not valid; then call `fixedCell`.
    package func plainCell(at location: RowLocation, _ column: Int) -> UInt64? {
        note(column)
        return withRow(at: location) { row in
            if location.hasNeighbours { row.prefetchNeighbour(column) }
            let cell = row.fixedCell(column)
            return cell.state == .value ? cell.bits : nil
        } ?? nil
    }

    /// The text of a cell. Nil if it is null or a blob, or if the location is not valid; then call `textCell`.
    package func plainText(at location: RowLocation, _ column: Int) -> String? {
        note(column)
        return withRow(at: location) { row in
            if location.hasNeighbours { row.prefetchNeighbour(column) }
            guard !row.isNull(column), let bytes = unsafe row.leaf.bytesInLeaf(column, row.slot) else { return nil }
            if !location.hasNeighbours, row.slot % TextOffsetPredictor.rowsPerLesson == 0 { unsafe learn(column, row, bytes) }
            return unsafe TableCells.text(bytes)
        } ?? nil
    }

    /// The longest text in bytes that a `String` contains without an allocation.
    private static let smallTextMax = 15

    /// The bytes as a text; invalid UTF-8 is repaired. A short text is written in place, which takes a third of the instructions of decoding.
    @inline(__always)
    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        guard bytes.count <= smallTextMax else { return unsafe String(decoding: bytes, as: UTF8.self) }
        return unsafe String(unsafeUninitializedCapacity: smallTextMax) { buffer in
            unsafe UnsafeMutableRawBufferPointer(buffer).copyMemory(from: bytes)
            return bytes.count
        }
    }

    /// Updates the prediction with the offset of a text.
    @inline(__always)
    private func learn(_ column: Int, _ row: RowView, _ bytes: UnsafeRawBufferPointer) {
        guard column < 64, bytes.count > 0, let start = bytes.baseAddress else { return }
        let offset = unsafe start - UnsafeRawPointer(row.leaf.page.base) - row.leaf.columnsStart - row.leaf.capacity * bytesPerRow
        let place = TextOffsetPredictor.RowPosition(slot: row.slot, of: row.leaf.count)
        if !firstPredictor.learn(column, place, offset) { _ = secondPredictor.learn(column, place, offset) }
    }

    /// The bytes of a text in the page, valid until `BorrowedBytes.endBorrowing`. Nil if it is null or a blob, or if the location is not valid; then
    /// call `readTextBytes`.
    package func borrowText(at location: RowLocation, _ column: Int) -> BorrowedBytes? {
        note(column)
        guard isFromThisVersion(location) else { return nil }
        return unsafe pool._withUnsafeGuaranteedRef { pool -> BorrowedBytes? in
            let epoch = pool.epochs.enter()
            let frame = location.frame
            if pool.generation(frame) == location.generation, let cachedHeader = pool.cachedHeader(frame), let leaf = leaf(pool, frame, cachedHeader) {
                let row = leaf.row(location.slot)
                if location.hasNeighbours { row.prefetchNeighbour(column) }
                if !row.isNull(column), let bytes = unsafe leaf.bytesInLeaf(column, location.slot), let start = bytes.baseAddress {
                    return unsafe BorrowedBytes(start: start, count: bytes.count, reader: UnsafeMutableRawPointer(epoch.cell))
                }
            }
            pool.epochs.leave(epoch)
            return nil
        }
    }

    /// A cell of at most eight bytes. Reads the row at its location if that is valid, otherwise by its key, and updates the location.
    package func fixedCell(
        _ key: UInt64, at location: inout RowLocation, _ column: Int
    ) throws(EngineError) -> FixedCell {
        note(column)
        if let cell = withRow(at: location, { $0.fixedCell(column) }) { return cell }
        var cell = FixedCell(.noRow)
        try view.readRow(key, at: &location) { row throws(EngineError) in cell = row.fixedCell(column) }
        return cell
    }

    /// The cells of several rows in one column, of at most eight bytes each, in the order of the keys; nil if a row cannot be found.
    package func fixedCells(_ keys: [UInt64], _ column: Int) throws(EngineError) -> [FixedCell]? {
        note(column)
        var cells: [FixedCell] = []
        cells.reserveCapacity(keys.count)
        var places: [FixedCellPlace] = []
        places.reserveCapacity(min(keys.count, TreeWalk.leavesPerEpoch))
        var start = 0
        while start < keys.count {
            let end = min(start + TreeWalk.leavesPerEpoch, keys.count)
            let epoch = unsafe pool._withUnsafeGuaranteedRef { $0.epochs.enter() }
            defer { unsafe pool._withUnsafeGuaranteedRef { $0.epochs.leave(epoch) } }
            guard try readCells(keys[start..<end], column, &places, &cells) else { return nil }
            start = end
        }
        return cells
    }

    /// Reads the cells of some rows inside an epoch. Finds and prefetches all of them first, so that the cache misses of different rows overlap.
    private func readCells(
        _ keys: ArraySlice<UInt64>, _ column: Int, _ places: inout [FixedCellPlace], _ cells: inout [FixedCell]
    ) throws(EngineError) -> Bool {
        let isExpired = view.root.isExpired
        func readPlaces() {
            for place in places { cells.append(place.cell) }
            places.removeAll(keepingCapacity: true)
        }
        for key in keys {
            if !isExpired, let place = unsafe pool._withUnsafeGuaranteedRef({ hintedRow($0, key).flatMap { FixedCellPlace($0, column) } }) {
                places.append(place)
                continue
            }
            var location = RowLocation()
            guard try find(key, at: &location), let row = withRow(at: location, { $0 }) else { return false }
            if let place = FixedCellPlace(row, column) {
                places.append(place)
            } else {
                readPlaces()
                cells.append(row.fixedCell(column))
            }
        }
        readPlaces()
        return true
    }

    /// The row of a key in the leaf that the leaf hint cache names; nil if a walk is necessary.
    @inline(__always)
    private func hintedRow(_ pool: FramePool, _ key: UInt64) -> RowView? {
        leaves.frame(near: key, pool).flatMap { row(pool, key, in: $0) }
    }

    /// The row of a key in the leaf of another row; nil if it is not there.
    @inline(__always)
    private func row(_ pool: FramePool, _ key: UInt64, beside other: RowLocation) -> RowView? {
        isIn(pool, other) ? row(pool, key, in: other.frame) : nil
    }

    @inline(__always)
    private func row(_ pool: FramePool, _ key: UInt64, in frame: UInt32) -> RowView? {
        guard let cachedHeader = pool.cachedHeader(frame), let slot = cachedHeader.slot(key) else { return nil }
        return leaf(pool, frame, cachedHeader)?.row(slot)
    }

    /// The text of a variable cell. Reads the row at its location if that is valid, otherwise by its key, and updates the location.
    package func textCell(
        _ key: UInt64, at location: inout RowLocation, _ column: Int
    ) throws(EngineError) -> TextCell {
        note(column)
        if let cell = withRow(at: location, { row in Result { () throws(EngineError) in try row.textCell(column) } }) {
            return try cell.get()
        }
        var cell = TextCell.noRow
        try view.readRow(key, at: &location) { row throws(EngineError) in cell = try row.textCell(column) }
        return cell
    }

    /// Calls `body` with the bytes of a variable cell, or with nil for null. False if there is no row. Updates the location.
    package func readTextBytes(
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
        try view.readRow(key, at: &location) { row throws(EngineError) in
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

    /// Calls `body` with the row at a location. Nil if the location is not valid.
    @inline(__always)
    private func withRow<R>(at location: RowLocation, _ body: (RowView) -> R) -> R? {
        guard isFromThisVersion(location) else { return nil }
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
    /// True if the leaf in the frame was verified with a table's layouts.
    @inline(__always)
    fileprivate func isVerified(_ frame: UInt32, _ layouts: Unmanaged<TableLayouts>) -> Bool {
        let serial = unsafe infos[Int(frame)].verifiedFor.load(ordering: .acquiring)
        return unsafe serial == .max || serial == layouts._withUnsafeGuaranteedRef { $0.serial }
    }
}

extension TreeRoot {
    /// The frame of the leaf where a key belongs, if all pages on the path are in memory. Does not check the kind of the leaf, which may be
    /// wrong in a damaged file. Called inside an epoch.
    @inline(__always)
    fileprivate func leafInMemory(_ pool: FramePool, _ key: UInt64) -> UInt32? {
        var frame = reference.frame
        if !reference.isInMemory {
            frame = hint.frame.load(ordering: .relaxed)
            guard frame != 0, pool.holds(frame, reference.address) else { return nil }
        }
        var level = pool.page(frame).level
        while level > 0 {
            let node = SlottedNode(pool.page(frame))
            guard let child = pool.childInMemory(node, node.childIndex(forHead: key)) else { return nil }
            frame = child
            level -= 1
        }
        return frame
    }
}
