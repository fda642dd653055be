internal import HornbeamEngine
internal import HornbeamModel

/// Access to states before the newest one.
extension Store {
    /// The transactions whose states can be read now, ascending, with the newest last. An older state is readable while a snapshot of it is
    /// held, or as long as `EngineOptions.retention` keeps it.
    package var retainedTransactions: [UInt64] { engine.retainedTransactions.map(\.rawValue).filter { $0 >= openedTransaction } }

    /// The state after a commit. The snapshot keeps the state while it is held, without an age limit.
    ///
    /// - Throws: `HornbeamError`: `snapshotExpired` when the state is no longer kept, `closed` when the store is closed.
    package func snapshot(at transaction: UInt64) throws -> StoreSnapshot {
        if let fixedState { return fixedState }
        guard transaction >= openedTransaction else {
            throw HornbeamError(
                .snapshotExpired,
                "The state after commit \(transaction) of “\(location)” cannot be read: it is older than the opening of the store with "
                    + "this model. The oldest readable one is \(openedTransaction).")
        }
        return try EngineError.translated { () throws(EngineError) in
            try StoreSnapshot(try engine.snapshot(at: TransactionNumber(transaction), isPinned: true), reader: reader)
        }
    }

    /// The newest state. It stays readable while the snapshot is held, without an age limit.
    package func retain() throws -> StoreSnapshot {
        if let fixedState { return fixedState }
        return try EngineError.translated { () throws(EngineError) in
            try StoreSnapshot(try engine.snapshot(isPinned: true), reader: reader)
        }
    }
}
