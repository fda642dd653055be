// Reading a table of one version: rows by key, in batches, and leaf by leaf.

/// A table as a snapshot (or a transaction, until its next change) sees it.
package struct TableView: Sendable {
    let root: TreeRoot
    let layouts: TableLayouts
    /// The version's number; `noTransaction` for the view of a writer, whose rows move.
    let transaction: UInt64
    static let noTransaction: UInt64 = 0
    /// Keeps the version alive.
    let owner: any AnyObject & Sendable

    /// Rows in the table.
    package var count: Int { Int(root.reference.count) }
    /// The current layout, by whose order columns are numbered.
    package var layout: ColumnLayout { layouts.all[layouts.all.count - 1] }

    /// The columns that older leaves may still hold and that the current layout does not show.
    package var hiddenColumns: Set<ColumnID> {
        let shown = Set(layout.columns.map(\.id))
        return Set(layouts.all.flatMap { $0.columns.map(\.id) }).subtracting(shown)
    }

    /// Lends the row of a key; nil if there is none. O(log n).
    @inlinable @inline(__always)
    package func withRow<R>(_ key: UInt64, _ body: (RowView) throws(EngineError) -> R) throws(EngineError) -> R? {
        var result: R?
        try lendRow(key) { row throws(EngineError) in result = try body(row) }
        return result
    }

    /// Lends the row of a key, read at its location first; updates the location.
    @inlinable @inline(__always)
    package func withRow<R>(
        _ key: UInt64, at location: inout RowLocation, _ body: (RowView) throws(EngineError) -> R
    ) throws(EngineError) -> R? {
        var result: R?
        try lendRow(key, at: &location) { row throws(EngineError) in result = try body(row) }
        return result
    }

    /// The implementation of `withRow`, without a generic parameter that would cross the module's border.
    @usableFromInline
    package func lendRow(_ key: UInt64, _ body: (RowView) throws(EngineError) -> Void) throws(EngineError) {
        guard !root.reference.isEmpty else { return }
        try root.reading { () throws(EngineError) in
            guard let (leaf, slot) = try find(key) else { return }
            try body(leaf.row(slot))
        }
    }

    /// The same for a row with a known location.
    @usableFromInline
    package func lendRow(
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

    /// Locates the row of a key. The location does not change when there is none.
    package func locate(_ key: UInt64, _ location: inout RowLocation) throws(EngineError) {
        try lendRow(key, at: &location) { _ in }
    }

    package func contains(_ key: UInt64) throws(EngineError) -> Bool {
        try withRow(key) { _ throws(EngineError) in true } ?? false
    }

    /// The leaf of a location, if the frame still holds the same content and the location comes from this version.
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

    /// Lends the rows of ascending keys in order; missing keys are skipped, `false` stops.
    /// The body receives the position of the key in `keys`.
    package func forEachRow(
        _ keys: [UInt64], _ body: (Int, RowView, RowLocation) throws(EngineError) -> Bool
    ) throws(EngineError) {
        guard !root.reference.isEmpty else { return }
        var next = 0
        while next < keys.count {
            next = try root.reading { () throws(EngineError) in try rowsOfSomeLeaves(keys, from: next, body) }
        }
    }

    /// Lends rows from some leaves in one epoch; returns the position of the next key.
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

    /// Lends the leaves in key order from the one where `key` belongs (or backwards from it); `false` stops.
    ///
    /// - Parameter fetching: The columns to be read, one bit each for the first 64. Those of the next leaf are prefetched while one leaf is
    ///   read.
    package func forEachLeaf(
        from key: UInt64? = nil, reversed: Bool = false, fetching columns: UInt64 = 0, _ body: (LeafView) throws(EngineError) -> Bool
    ) throws(EngineError) {
        guard !root.reference.isEmpty else { return }
        var start = key ?? (reversed ? .max : 0)
        while let next = try someLeaves(from: start, reversed, reversed ? 0 : columns, body) { start = next }
    }

    /// Lends some leaves in one epoch; returns the key to continue from, nil at the end.
    private func someLeaves(
        from key: UInt64, _ reversed: Bool, _ columns: UInt64, _ body: (LeafView) throws(EngineError) -> Bool
    ) throws(EngineError) -> UInt64? {
        try root.reading { () throws(EngineError) in
            var walk = TreeWalk(root)
            var frame = try walk.descend { $0.childIndex(forHead: key) }
            for _ in 0..<TreeWalk.leavesPerEpoch {
                if columns != 0 { fetchColumns(columns, of: walk.nextKnown()) }
                guard try body(try briefView(frame)) else { return nil }
                guard let next = try walk.step(reversed: reversed) else { return nil }
                frame = next
            }
            return TableLeaf.key(root.pool.page(frame), 0)
        }
    }

    /// Prefetches columns of the next leaf.
    private func fetchColumns(_ columns: UInt64, of frame: UInt32?) {
        guard let frame, let cachedHeader = root.pool.cachedHeader(frame),
            let leaf = LeafView(root.pool, frame, cachedHeader, layouts, transaction: transaction)
        else { return }
        leaf.fetch(columns)
    }

    /// A leaf; its header is not read if it is cached.
    @inline(__always)
    private func briefView(_ frame: UInt32) throws(EngineError) -> LeafView {
        try root.pool.verifyLeaf(frame, layouts)
        if let cachedHeader = root.pool.cachedHeader(frame), let leaf = LeafView(root.pool, frame, cachedHeader, layouts, transaction: transaction) {
            return leaf
        }
        let leaf = try view(frame)
        if transaction != TableView.noTransaction { leaf.cacheHeader() }
        return leaf
    }

    /// The n-th key; nil beyond the end. O(log n).
    package func key(at n: Int) throws(EngineError) -> UInt64? {
        guard n >= 0, n < count else { return nil }
        return try root.reading { () throws(EngineError) in
            let (frame, slot) = try root.position(n)
            return TableLeaf.key(root.pool.page(frame), slot)
        }
    }

    /// Rows with smaller keys. O(log n).
    package func rank(of key: UInt64) throws(EngineError) -> Int {
        guard !root.reference.isEmpty else { return 0 }
        return try root.reading { () throws(EngineError) in
            let (before, frame) = try root.rank { $0.childIndex(forHead: key) }
            return before + TableLeaf.find(root.pool.page(frame), key).slot
        }
    }
}
