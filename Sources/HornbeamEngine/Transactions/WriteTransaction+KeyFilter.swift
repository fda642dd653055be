// Decides which batches go into insert buffers, and makes the filters of their indexes.

extension WriteTransaction {
    /// The filter of an index, and the number of entries above which its insert buffer is full; nil if a batch is to be put into the index directly.
    func filter(for batch: EntryBatch, _ editor: TreeEditor) throws(EngineError) -> (filter: KeyFilter, entriesMax: UInt64)? {
        let pool = ledger.pool
        // Smaller batches may be deferred.
        guard batch.count > DeferredChanges.countMax, editor.root.count > UInt64(batch.count), engine.sharing == nil, !redo.isOmitted,
            try lookUp({ () throws(EngineError) in try editor.hasLeaves(pool.capacity / 8) })
        else { return nil }
        engine.insertBuffers[editor.id].entriesOfBatches += batch.count
        let (changed, entriesPerLeaf) = try leaves(changedBy: batch, editor)
        let count = Int(editor.root.count)
        // An index of a quarter of the pool is changed in memory. A batch that changes few leaves, or has many entries for each, changes no fewer by way
        // of the buffer.
        guard count >= pool.capacity / 4 * entriesPerLeaf, changed > 3, batch.count < changed * max(entriesPerLeaf / 8, 1),
            let filter = try filter(of: editor, batch.count)
        else { return nil }
        // In a large buffer, a range has more entries when it moves. The rest of the pool is for the leaves of the indexes and of the rows.
        return (filter, UInt64(min(pool.capacity * entriesPerLeaf, count) / 8 * 3 / engine.insertBuffers.filters))
    }

    /// About as many leaves of an index as a batch changes, and the average number of entries in them. A batch changes few leaves if its keys are near
    /// each other, or behind all others.
    private func leaves(changedBy batch: EntryBatch, _ editor: TreeEditor) throws(EngineError) -> (changed: Int, entriesPerLeaf: Int) {
        let view = view(of: editor.root)
        let places = try batch.sampledKeys(atMost: WriteTransaction.samples).map { (key) throws(EngineError) in try view.ownPlace(of: key) }
        let entriesPerLeaf = max(places.reduce(0) { $0 + $1.leafCount } / places.count, 1)
        // The entries of the index between two samples, at most those of as many leaves as the batch has entries there.
        let between = (batch.count / max(places.count - 1, 1) + 1) * entriesPerLeaf
        let entries = zip(places, places.dropFirst()).reduce(entriesPerLeaf) { $0 + min($1.1.rank - $1.0.rank, between) }
        return (entries / entriesPerLeaf, entriesPerLeaf)
    }

    private static let samples = 33

    /// The filter of an index; nil if it has no room for more keys, or is not worth the scan that makes it.
    private func filter(of editor: TreeEditor, _ more: Int) throws(EngineError) -> KeyFilter? {
        let buffers = engine.insertBuffers
        let bytes = InsertBuffers.filterBytes(ledger.pool)
        let count = Int(editor.root.count)
        // Without a buffer, the filter is of an aborted transaction, and lacks the later keys of the index.
        if editor.insertBuffer == nil || count + more > KeyFilter.keysMax(bytes: bytes) { buffers.discardFilter(of: editor.id, ledger.pool) }
        guard count + more <= KeyFilter.keysMax(bytes: bytes) else { return nil }
        if let filter = buffers[editor.id].filter { return filter }
        buffers.forgetIndexes(ledger.pool) { base.position(of: $0) == nil && editors[$0] == nil }
        guard buffers[editor.id].entriesOfBatches >= count / WriteTransaction.scannedPerEntry, buffers.filters < WriteTransaction.filtersMax else {
            return nil
        }
        // This transaction may be aborted. Those before it are durable now, or were undone, and then this one cannot be committed.
        try engine.core.pipeline.drain()
        try engine.core.pipeline.requireNewest(base)
        ledger.pool.reserve(bytes: bytes)
        let filter = KeyFilter(bytes: bytes)
        do throws(EngineError) {
            // The filter has the keys before and after the changes of this transaction.
            let before = base.position(of: editor.id).map { base.trees[$0].root }
            if let before { try addKeys(of: before, to: filter) }
            if before != editor.root { try addKeys(of: editor.root, to: filter) }
        } catch {
            ledger.pool.endReserving(bytes: bytes)
            throw error
        }
        buffers[editor.id].filter = filter
        return filter
    }

    private func addKeys(of root: PageReference, to filter: KeyFilter) throws(EngineError) {
        // Each block of the filter is requested some keys ahead, so that the cache misses overlap.
        var hashes: [UInt64] = []
        unsafe try view(of: root).forEach(in: KeyRange()) { (key, _) throws(EngineError) -> Bool in
            let hash = KeyFilter.hash(unsafe Bytes(key))
            filter.prefetch(hash)
            hashes.append(hash)
            if hashes.count == WriteTransaction.hashedTogether {
                for hash in hashes { filter.insert(hash) }
                hashes.removeAll(keepingCapacity: true)
            }
            return true
        }
        for hash in hashes { filter.insert(hash) }
    }

    /// A view of an index without its buffer.
    private func view(of root: PageReference) -> IndexView {
        IndexView(root: TreeRoot(pool: ledger.pool, reference: root, hint: RootHint(), leafKind: .indexLeaf, version: nil), owner: engine)
    }

    /// A scan of so many entries takes less time than changing a leaf.
    private static let scannedPerEntry = 256
    /// Each filter takes an eighth of the pool.
    private static let filtersMax = 2
}

extension TreeEditor {
    /// Whether the tree seems to have so many leaves: estimates them by the links of the inner nodes on a path through the middle.
    func hasLeaves(_ count: Int) throws(EngineError) -> Bool {
        guard !root.isEmpty else { return false }
        var frame = try pool.rootFrame(root)
        var leaves = 1
        while pool.page(frame).level > 0, leaves < count {
            let inner = node(frame)
            leaves *= inner.count
            guard inner.page.level > 1 else { break }
            frame = try pool.child(inner, inner.count / 2)
        }
        return leaves >= count
    }
}
