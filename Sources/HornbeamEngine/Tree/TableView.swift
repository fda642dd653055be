// Reads a table of one version: rows by key, in batches, and leaf by leaf.

/// A table in one version. The view of a transaction's own changes is valid until its next change.
@usableFromInline package struct TableView: Sendable {
    let root: TreeRoot
    let layouts: TableLayouts
    /// The version's number; `noTransaction` for the view of a running transaction, whose rows have no stable locations.
    let transaction: UInt64
    static let noTransaction: UInt64 = 0
    /// The snapshot or transaction, retained so that the version is not released.
    let owner: any AnyObject & Sendable

    /// The number of rows in the table.
    package var count: Int { Int(root.reference.count) }
    /// The current layout. A column number is an index into its columns.
    package var layout: ColumnLayout { layouts.all[layouts.all.count - 1] }

    /// The columns that older leaves may still contain and that are not in the current layout.
    package var hiddenColumns: Set<ColumnID> {
        let shown = Set(layout.columns.map(\.id))
        return Set(layouts.all.flatMap { $0.columns.map(\.id) }).subtracting(shown)
    }

    /// Calls `body` with the row of a key. Returns nil if there is none. O(log n).
    @inlinable @inline(__always)
    package func withRow<R>(_ key: UInt64, _ body: (RowView) throws(EngineError) -> R) throws(EngineError) -> R? {
        var result: R?
        try readRow(key) { row throws(EngineError) in result = try body(row) }
        return result
    }

    /// Calls `body` with the row of a key, which may have a known location. Reads the row there if the location is valid; otherwise finds it by its
    /// key and updates the location. Returns nil if there is no row.
    @inlinable @inline(__always)
    package func withRow<R>(
        _ key: UInt64, at location: inout RowLocation, _ body: (RowView) throws(EngineError) -> R
    ) throws(EngineError) -> R? {
        var result: R?
        try readRow(key, at: &location) { row throws(EngineError) in result = try body(row) }
        return result
    }

    /// The implementation of `withRow` without a generic parameter, since calls of generic functions in another module are slow.
    @usableFromInline
    package func readRow(_ key: UInt64, _ body: (RowView) throws(EngineError) -> Void) throws(EngineError) {
        guard !root.reference.isEmpty else { return }
        try root.reading { () throws(EngineError) in
            guard let (leaf, slot) = try find(key) else { return }
            try body(leaf.row(slot))
        }
    }

    /// The implementation of `withRow` with a location.
    @usableFromInline
    package func readRow(
        _ key: UInt64, at location: inout RowLocation, _ body: (RowView) throws(EngineError) -> Void
    ) throws(EngineError) {
        guard !root.reference.isEmpty else { return }
        try root.reading { () throws(EngineError) in
            if let leaf = leaf(at: location) { return try body(leaf.row(location.slot)) }
            guard let (leaf, slot) = try find(key) else { return }
            location = leaf.location(slot)
            try body(leaf.row(slot))
        }
    }

    /// Sets the location of the row of a key. Does not change it if there is no row.
    package func locate(_ key: UInt64, _ location: inout RowLocation) throws(EngineError) {
        try readRow(key, at: &location) { _ in }
    }

    /// Asks the system to read the leaf of a key ahead.
    func readAhead(_ key: UInt64) throws(EngineError) { try root.readLeafAhead { $0.childIndex(forHead: key) } }

    package func contains(_ key: UInt64) throws(EngineError) -> Bool {
        try withRow(key) { _ throws(EngineError) in true } ?? false
    }

    /// The leaf of a location; nil unless the location is of this version and the frame still has the same generation.
    @inline(__always)
    private func leaf(at location: RowLocation) -> LeafView? {
        guard location.isOf(transaction), root.pool.generation(location.frame) == location.generation
        else { return nil }
        return LeafView(root.pool, location.frame, layouts, transaction: transaction)
    }

    @inline(__always)
    private func find(_ key: UInt64) throws(EngineError) -> (LeafView, Int)? {
        let frame = try root.leaf { $0.childIndex(forHead: key) }
        let (slot, found) = TableLeaf.find(root.pool.page(frame), key)
        return found ? (try view(frame), slot) : nil
    }

    @inline(__always)
    private func view(_ frame: UInt32) throws(EngineError) -> LeafView {
        try root.pool.verifyLeaf(frame, layouts)
        if let view = LeafView(root.pool, frame, layouts, transaction: transaction) { return view }
        throw EngineError(
            .damaged,
            "A leaf names layout \(root.pool.page(frame).load(24, as: UInt32.self)), which its table does not have.")
    }

    /// Calls `body` with the rows of the given keys, which must ascend, until it returns false. Missing keys are skipped.
    /// The first argument of `body` is the index of the key in `keys`.
    package func forEachRow(
        _ keys: [UInt64], _ body: (Int, RowView, RowLocation) throws(EngineError) -> Bool
    ) throws(EngineError) {
        try forEachRow(keys, body) { () throws(EngineError) in }
    }

    /// Reads rows by ascending keys, and calls `endOfPart` after the rows of some leaves. The rows since the last call are still valid then.
    package func forEachRow(
        _ keys: [UInt64], _ body: (Int, RowView, RowLocation) throws(EngineError) -> Bool, endOfPart: () throws(EngineError) -> Void
    ) throws(EngineError) {
        guard !root.reference.isEmpty else { return }
        var next = 0
        while next < keys.count {
            next = try root.reading { () throws(EngineError) in
                let following = try rowsOfSomeLeaves(keys, from: next, body)
                try endOfPart()
                return following
            }
        }
    }

    /// Visits the rows of some leaves in one epoch. Returns the index of the next key.
    private func rowsOfSomeLeaves(
        _ keys: [UInt64], from start: Int, _ body: (Int, RowView, RowLocation) throws(EngineError) -> Bool
    ) throws(EngineError) -> Int {
        var next = start
        for _ in 0..<TreeWalk.leavesPerEpoch {
            guard next < keys.count else { return next }
            let key = keys[next]
            let frame = try root.leaf { $0.childIndex(forHead: key) }
            let leaf = try view(frame)
            let last = leaf.key(leaf.count - 1)
            repeat {
                let (slot, found) = TableLeaf.find(leaf.page, keys[next])
                if found, try !body(next, leaf.row(slot), leaf.location(slot)) { return keys.count }
                next += 1
            } while next < keys.count && keys[next] <= last
        }
        return next
    }

    /// Calls `body` with each leaf from the one where `key` belongs, in key order or backwards, until it returns false.
    ///
    /// - Parameters:
    ///   - columns: A bit for each column, of the first 64, that the body reads. They are prefetched in the next leaf while `body` reads one leaf.
    ///   - readsOnly: A bit for each column, of the first 64, whose fixed cells the body reads, if it otherwise reads only keys, bits and nulls. Then the
    ///     leaves of a table that is larger than the pool are unpacked in part. Nil if the body may read any cell.
    package func forEachLeaf(
        from key: UInt64? = nil, reversed: Bool = false, prefetching columns: UInt64 = 0, readsOnly: UInt64? = nil,
        _ body: (LeafView) throws(EngineError) -> Bool
    ) throws(EngineError) {
        guard !root.reference.isEmpty else { return }
        var start = key ?? (reversed ? .max : 0)
        let partial = readsOnly.flatMap { exceedsPool ? PartialLeaf($0, root.pool, layouts) : nil }
        while let next = try someLeaves(from: start, reversed, reversed ? 0 : columns, partial, body) {
            guard reversed ? next < start : next > start else { throw TreeRoot.disorder }
            start = next
        }
    }

    package var pageSize: Int { root.pool.pageSize }

    /// The largest number of bytes that a row of the table can have in variable columns; longer values are stored outside its leaf.
    package var variableBytesMax: Int { layouts.variableBytesMax(pageSize: root.pool.pageSize) }

    /// True if the fixed columns alone take more memory than the pool: then a scan of whole leaves would evict what the next scan reads.
    private var exceedsPool: Bool {
        transaction != TableView.noTransaction && count * layouts.current.fixedPerRow > root.pool.capacity * root.pool.pageSize
    }

    /// Visits some leaves in one epoch. Returns the key at which to continue; nil at the end.
    private func someLeaves(
        from key: UInt64, _ reversed: Bool, _ columns: UInt64, _ partial: PartialLeaf?, _ body: (LeafView) throws(EngineError) -> Bool
    ) throws(EngineError) -> UInt64? {
        try root.reading { () throws(EngineError) in
            var walk = TreeWalk(root, partial: partial)
            var frame = try walk.descend { $0.childIndex(forHead: key) }
            for _ in 0..<TreeWalk.leavesPerEpoch {
                if columns != 0 { prefetchColumns(columns, of: walk.nextInMemory()) }
                guard try body(try view(frame, partial)) else { return nil }
                guard let next = try walk.step(reversed: reversed) else { return nil }
                frame = next
            }
            return try view(frame, partial).key(0)
        }
    }

    /// Prefetches columns of the leaf in a frame, if its header is cached.
    private func prefetchColumns(_ columns: UInt64, of frame: UInt32?) {
        guard let frame, let cachedHeader = root.pool.cachedHeader(frame),
            let leaf = LeafView(root.pool, frame, cachedHeader, layouts, transaction: transaction)
        else { return }
        leaf.prefetch(columns)
    }

    /// The view of the leaf at which a walk is.
    @inline(__always)
    private func view(_ frame: UInt32, _ partial: PartialLeaf?) throws(EngineError) -> LeafView {
        if let partial, frame == TreeWalk.partialFrame { return partial.view(transaction: transaction) }
        return try cachedView(frame)
    }

    /// The view of a leaf. Uses its cached header if there is one; otherwise caches the header.
    @inline(__always)
    private func cachedView(_ frame: UInt32) throws(EngineError) -> LeafView {
        try root.pool.verifyLeaf(frame, layouts)
        if let cachedHeader = root.pool.cachedHeader(frame), let leaf = LeafView(root.pool, frame, cachedHeader, layouts, transaction: transaction) {
            return leaf
        }
        let leaf = try view(frame)
        if transaction != TableView.noTransaction { leaf.cacheHeader() }
        return leaf
    }

    /// The key with the index `n` in key order; nil if there are not so many rows. O(log n).
    package func key(at n: Int) throws(EngineError) -> UInt64? {
        guard n >= 0, n < count else { return nil }
        return try root.reading { () throws(EngineError) in
            let (frame, slot) = try root.position(n)
            return TableLeaf.key(root.pool.page(frame), slot)
        }
    }

    /// The number of rows with smaller keys. O(log n).
    package func rank(of key: UInt64) throws(EngineError) -> Int {
        guard !root.reference.isEmpty else { return 0 }
        return try root.reading { () throws(EngineError) in
            let (before, frame) = try root.rank { $0.childIndex(forHead: key) }
            return before + TableLeaf.find(root.pool.page(frame), key).slot
        }
    }
}
