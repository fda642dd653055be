// Reads single cells of rows, for property getters. For speed, the calls between the modules use no closures, no generic parameters and no
// reference counts, and the results are plain values.
//
// A location is valid if it is of this version and its frame still has the same generation (TableView.leaf). If the frame's header is cached
// (CachedLeafHeader), the page's header is not read, so the first cache miss is that of the cells.

import Synchronization

/// A table of one version, for reading single cells without changing reference counts. It is a class, so that a call passes one word.
@safe package final class TableCells: Sendable {
    let view: TableView
    let pool: Unmanaged<FramePool>  // retained by the view
    let layouts: Unmanaged<TableLayouts>  // retained by the view
    let transaction: UInt64
    let isEmpty: Bool
    let leaves: LeafHintCache
    /// A bit for each variable column among the first 64.
    let texts: UInt64
    /// A bit for each column among the first 64 that has been read. Only these columns are prefetched.
    let columnsRead = Atomic<UInt64>(0)
    /// The predicted offsets of texts, for the first two text columns that are read.
    let firstPredictor = TextOffsetPredictor()
    let secondPredictor = TextOffsetPredictor()
    let pageSize: Int
    /// Bytes of a row in the arrays of a leaf, without bitmaps.
    let bytesPerRow: Int

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

    /// Adds a column to the columns read.
    @inline(__always)
    func note(_ column: Int) {
        let bit = TableCells.bit(column)
        if columnsRead.load(ordering: .relaxed) & bit != bit { columnsRead.bitwiseOr(bit, ordering: .relaxed) }
    }

    // MARK: Leaves

    /// Calls `body` with the row at a location. Nil if the location is not valid.
    @inline(__always)
    func withRow<R>(at location: RowLocation, _ body: (RowView) -> R) -> R? {
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

    /// Calls `body` with the row at a location in a leaf with a cached header. Nil also for a leaf without one. Calls no function, so that the values of the
    /// leaf stay in registers.
    @inline(__always)
    func withCachedRow<R>(at location: RowLocation, _ body: (RowView) -> R?) -> R? {
        guard isFromThisVersion(location) else { return nil }
        return unsafe pool._withUnsafeGuaranteedRef { pool -> R? in
            let epoch = pool.epochs.enter()
            defer { pool.epochs.leave(epoch) }
            let frame = location.frame
            guard pool.generation(frame) == location.generation, let cachedHeader = pool.cachedHeader(frame), let leaf = leaf(pool, frame, cachedHeader)
            else { return nil }
            return body(leaf.row(location.slot))
        }
    }

    @inline(__always)
    func leaf(_ pool: FramePool, _ frame: UInt32, _ cachedHeader: CachedLeafHeader) -> LeafView? {
        unsafe layouts._withUnsafeGuaranteedRef { LeafView(pool, frame, cachedHeader, $0, transaction: transaction) }
    }

    /// A leaf without a cached header.
    @inline(never)
    func leaf(_ pool: FramePool, _ frame: UInt32) -> LeafView? {
        unsafe layouts._withUnsafeGuaranteedRef { layouts in
            guard let leaf = LeafView(pool, frame, layouts, transaction: transaction) else { return nil }
            leaf.cacheHeader()
            return leaf
        }
    }
}
