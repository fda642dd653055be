// The filters of indexes with an insert buffer.

/// The filters of indexes with an insert buffer, by index.
///
/// `@unchecked Sendable`: only the transaction that has the writer's turn uses it.
final class InsertBuffers: @unchecked Sendable {
    /// The state of one index.
    struct Index {
        /// The keys of the index, without those of its buffer; nil until it is made by a scan of the whole index.
        var filter: KeyFilter?
        /// The number of entries of batches since the opening.
        var entriesOfBatches = 0
        /// The key at which the next move of entries begins.
        var next: [UInt8] = []
    }

    private var indexes: [TreeID: Index] = [:]

    subscript(_ index: TreeID) -> Index {
        get { indexes[index] ?? Index() }
        _modify { yield &indexes[index, default: Index()] }
    }

    /// The number of filters.
    var filters: Int { indexes.values.count { $0.filter != nil } }

    /// The memory of a filter.
    static func filterBytes(_ pool: FramePool) -> Int { pool.capacity * pool.pageSize / 8 }

    /// Removes the state of a dropped index.
    func forget(_ index: TreeID, _ pool: FramePool) {
        discardFilter(of: index, pool)
        indexes[index] = nil
    }

    /// Removes the states of the indexes for which `isGone` returns true: those that aborted transactions have created.
    func forgetIndexes(_ pool: FramePool, where isGone: (TreeID) -> Bool) {
        for index in indexes.keys.filter(isGone) { forget(index, pool) }
    }

    func discardFilter(of index: TreeID, _ pool: FramePool) {
        guard indexes[index]?.filter != nil else { return }
        indexes[index]?.filter = nil
        pool.endReserving(bytes: InsertBuffers.filterBytes(pool))
    }
}
