internal import HornbeamEngine
internal import HornbeamModel

extension Store {
    /// Begins a transaction, and returns it with the snapshot on which it starts. Other transactions wait, so reads of the snapshot stay valid.
    func beginOnSnapshot() throws -> (transaction: WriteTransaction, base: StoreSnapshot) {
        try requireWritable()
        try requireNoCustomStore()
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
    func inBatchTransaction(
        _ origin: BatchOrigin, collectsObjects: Bool,
        _ body: (WriteTransaction, StoreSnapshot) throws -> (change: StoreChange, outcome: BatchOutcome)
    ) throws -> BatchOutcome {
        let (transaction, base) = try beginOnSnapshot()
        var (change, outcome): (StoreChange, BatchOutcome)
        do {
            (change, outcome) = try body(transaction, base)
        } catch {
            transaction.abort()
            throw (error as? EngineError).map { HornbeamError($0) } ?? error
        }
        change.kind = .batch
        change.author = origin.author
        change.contextName = origin.contextName
        outcome.transaction = try commit(transaction, durability, publishing: change)
        if !collectsObjects { outcome.objects = [] }
        return outcome
    }
}
