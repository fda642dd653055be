// Finds rows by their keys, and prefetches their cells. Most rows are found without a walk from the root: in the leaf of another row, or by the
// leaf hint cache.

import Synchronization

extension TableCells {
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

    /// The row of a key in the leaf that the leaf hint cache names; nil if a walk is necessary.
    @inline(__always)
    func hintedRow(_ pool: FramePool, _ key: UInt64) -> RowView? {
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
