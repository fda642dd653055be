// Changes a table: inserts, replaces and deletes rows by key. If a row does not fit in place, the leaf is rebuilt column by column.

extension TreeEditor {
    /// Descends to the leaf where a key belongs, and finds its slot there; nil if the tree is empty.
    private func seek(_ key: UInt64) throws(EngineError) -> (slot: Int, found: Bool)? {
        if leaf != 0, leafPage.count > 0, key >= leafPage.load(16, as: UInt64.self) {
            let place = TableLeaf.find(leafPage, key)
            if place.found || place.slot < leafPage.count || isAtRightEdge || key < nextLeafKey { return place }
        }
        guard try descend({ $0.childIndex(forHead: key) }) else { return nil }
        return TableLeaf.find(leafPage, key)
    }

    /// A lower bound of the keys in the leaf after that at the end of the path, and an upper bound of the keys that belong in that at its end. 0 if the parent
    /// does not have it.
    private var nextLeafKey: UInt64 {
        guard let parent = path.last, parent.index + 1 < node(parent.frame).count else { return 0 }
        return node(parent.frame).head(parent.index + 1)
    }

    /// Whether the table has a row of a key. Changes nothing.
    func contains(_ key: UInt64) throws(EngineError) -> Bool {
        guard let leaf = try visit({ $0.childIndex(forHead: key) }) else { return false }
        return TableLeaf.find(pool.page(leaf), key).found
    }

    var layout: ResolvedLayout { layouts!.current }

    private func currentLeaf() throws(EngineError) -> TableLeaf { try resolvedLeaf(leafPage) }

    /// A leaf with the layout in which it is stored.
    func resolvedLeaf(_ page: Page) throws(EngineError) -> TableLeaf {
        let version: UInt32 = page.load(24)
        guard let own = unsafe layouts!.resolve(version)?.own else {
            throw EngineError(.damaged, "A leaf of table \(id) names layout \(version), which the table does not have.")
        }
        return TableLeaf(page: page, layout: own)
    }

    /// Descends to the leaf of a row, and converts it to the current layout. Returns the leaf and the row's slot; nil if there is no such row.
    func currentLeaf(for key: UInt64) throws(EngineError) -> (leaf: TableLeaf, slot: Int)? {
        guard let place = try seek(key), place.found else { return nil }
        let leaf = try currentLeaf()
        if leaf.layout === layout { return (leaf, place.slot) }
        try rebuild(leaf, order(leaf))
        guard let place = try seek(key), place.found else { return nil }
        return (try currentLeaf(), place.slot)
    }

    /// Copies a leaf without the selected rows to a new page. Nil if the leaf has an older layout or the copy does not fit in a page.
    func copy(_ leaf: TableLeaf, without bits: ArraySlice<UInt64>, to page: Page) -> RewrittenLeaf? {
        var slots: [Int32] = []
        slots.reserveCapacity(leaf.count)
        for (n, word) in bits.enumerated() {
            for row in 0..<min(64, leaf.count - n * 64) where word >> UInt64(row) & 1 == 0 { slots.append(Int32(n * 64 + row)) }
        }
        if slots.isEmpty { return .empty }
        guard leaf.layout === layout else { return nil }
        let width = keyWidth(leaf, slots[...], .none)
        let heap = heapBytesOfRows(leaf, slots, .none).reduce(0, +)
        guard layout.arrayBytes(capacity: slots.count, keyWidth: width) + heap <= pool.pageSize else { return nil }
        let target = TableLeaf.create(
            in: page, layout, capacity: capacity(rows: slots.count, heap: heap, keyWidth: width, nil, false), keyWidth: width,
            firstKey: leaf.key(Int(slots[0])), limit: pool.pageSize)
        target.append(slots, of: leaf)
        return .replaced(entries: slots.count)
    }

    /// Inserts or replaces a row. True if the key is new.
    func put(key: UInt64, _ row: RowBuffer) throws(EngineError) -> Bool {
        guard let (slot, found) = try seek(key) else {
            try makeFirstLeaf { page in self.buildLeaf(in: page, after: nil, key, row) }
            addToCounts(1)
            return true
        }
        let leaf = try currentLeaf()
        if found {
            ledger.deadBlobs.append(contentsOf: leaf.blobs(slot))
            if leaf.layout === layout, leaf.replace(slot, row) { return false }
            try rebuild(leaf, order(leaf, replacing: slot), .row(key: key, row))
            return false
        }
        addToCounts(1)
        let isInRun = slot > 0 && leaf.key(slot - 1) == lastInserted
        lastInserted = key
        if slot == leaf.count, leaf.layout === layout, leaf.keepsKeys(appending: key), leaf.append(key: key, row) {
            return true
        }
        if slot == leaf.count, isAtRightEdge || isInRun, leaf.layout === layout, leaf.isWellFilled {
            try startLeaf(after: leaf, key, row)
            return true
        }
        if slot < leaf.count, leaf.layout === layout, leaf.insert(at: slot, key: key, row) { return true }
        var slots = order(leaf)
        slots.insert(Self.newRow, at: slot)
        try rebuild(leaf, slots, .row(key: key, row), isInRun: isInRun)
        return true
    }

    /// Appends a copy of a leaf whose keys are above all others.
    func append(_ page: Page) throws(EngineError) {
        guard try descend({ $0.count - 1 }) else {
            try makeFirstLeaf { $0.copy(pool.pageSize, from: page, at: 0, to: 0) }
            return addToCounts(page.count)
        }
        assert(TableLeaf.key(leafPage, leafPage.count - 1) < TableLeaf.key(page, 0), "A leaf is appended behind the last key.")
        let right = try ledger.allocate()
        pool.page(right).copy(pool.pageSize, from: page, at: 0, to: 0)
        addToCounts(page.count)
        try addSibling(right, separator: separator(of: right), at: path.count)
    }

    /// Starts a new leaf with a new row, at the right edge or in a run of ascending keys. The leaf before does not change.
    private func startLeaf(after leaf: TableLeaf, _ key: UInt64, _ row: RowBuffer) throws(EngineError) {
        assert(leaf.count > 0 && leaf.key(leaf.count - 1) < key, "A row is appended behind the last key.")
        if isAtRightEdge { noteFilled(self.leaf) }
        let right = try ledger.allocate()
        buildLeaf(in: pool.page(right), after: leaf, key, row)
        let separator = unsafe withUnsafeBytes(of: key.bigEndian) { unsafe Array($0) }
        try addSibling(right, separator: separator, at: path.count)
    }

    /// Deletes the rows with the given keys, which must ascend. Returns the number of deleted rows.
    func delete(_ keys: [UInt64]) throws(EngineError) -> Int {
        var deleted = 0
        var next = 0
        while next < keys.count {
            guard try seek(keys[next]) != nil else { return deleted }
            let leaf = try currentLeaf()
            let last = leaf.count > 0 ? leaf.key(leaf.count - 1) : 0
            var slots = order(leaf)
            var removed = 0
            repeat {
                let (slot, found) = TableLeaf.find(leafPage, keys[next])
                if found, slots[slot] != Self.removed {
                    ledger.deadBlobs.append(contentsOf: leaf.blobs(slot))
                    slots[slot] = Self.removed
                    removed += 1
                }
                next += 1
            } while next < keys.count && keys[next] <= last
            guard removed > 0 else {
                forgetPath()
                continue
            }
            assert(removed <= leaf.count, "A leaf loses rows that it has.")
            deleted += removed
            addToCounts(-removed)
            try shrink(leaf, slots.filter { $0 != Self.removed })
        }
        return deleted
    }

    private func shrink(_ leaf: TableLeaf, _ slots: [Int32]) throws(EngineError) {
        guard !slots.isEmpty else {
            removeEmptyLeaf()
            return try lowerRoot()
        }
        try rebuild(leaf, slots)
        guard self.leaf != 0, !path.isEmpty else { return }
        if isSparse(self.leaf) {
            try mergeUpwards { left, right in self.joinLeaves(left, right) }
        }
    }

    /// Sets the cells of one column in the rows with the given keys. `cell` returns the new bytes for the n-th key; nil for null. Skips keys
    /// without a row.
    func patch(_ column: Int, of keys: [UInt64], _ cell: (Int) -> Bytes?) throws(EngineError) {
        for (n, key) in keys.enumerated() {
            guard let (leaf, slot) = try currentLeaf(for: key) else { continue }
            leaf.patch(column, slot, cell(n))
        }
    }
}
