internal import HornbeamEngine
internal import HornbeamModel

extension Store {
    /// Begins a transaction, and returns it with the snapshot on which it starts. Other transactions wait, so reads of the snapshot stay valid.
    func beginOnSnapshot() throws -> (transaction: WriteTransaction, base: StoreSnapshot) {
        try requireWritable()
        try requireBatches()
        let transaction = try beginTransaction()
        do {
            try waitForBase(of: transaction)
            let base = try snapshot()
            precondition(
                base.transaction == transaction.baseTransaction.rawValue,
                "The durable state can be read, and no other transaction writes now.")
            return (transaction, base)
        } catch {
            transaction.abort()
            throw error
        }
    }

    /// Runs the body in a transaction that commits when the body returns and aborts when it throws.
    ///
    /// - Parameter load: Caches the rows of a querying store that the body reads.
    func inBatchTransaction(
        _ origin: BatchOrigin, collectsObjects: Bool, loading load: () throws -> Void,
        _ body: (WriteTransaction, StoreSnapshot) throws -> (change: StoreChange, outcome: BatchOutcome)
    ) throws -> BatchOutcome {
        try repeatingBatch(loading: load) { try batchTransaction(origin, collectsObjects: collectsObjects, body) }
    }

    private func batchTransaction(
        _ origin: BatchOrigin, collectsObjects: Bool,
        _ body: (WriteTransaction, StoreSnapshot) throws -> (change: StoreChange, outcome: BatchOutcome)
    ) throws -> BatchOutcome {
        let (transaction, base) = try beginOnSnapshot()
        var (change, outcome): (StoreChange, BatchOutcome)
        let written: CustomStoreChanges?
        do {
            (change, outcome) = try body(transaction, base)
            change.kind = .batch
            change.author = origin.author
            change.contextName = origin.contextName
            written = try forwardBatch(change, in: transaction)
        } catch {
            transaction.abort()
            throw (error as? EngineError).map { HornbeamError($0) } ?? error
        }
        do { outcome.transaction = try commit(transaction, durability, publishing: change) } catch { throw batchFailed(error, written) }
        if let written { backing?.setVersions(after: written) }
        if !collectsObjects { outcome.objects = [] }
        return outcome
    }
}
