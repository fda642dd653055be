internal import HornbeamEngine
internal import HornbeamModel

/// States before the newest one.
extension Store {
    /// The commits whose states can be read now, ascending; the newest is the last. Older ones are there while a snapshot of them is held,
    /// or as long as `EngineOptions.retention` keeps them.
    package var retainedTransactions: [UInt64] { engine.retainedTransactions.map(\.rawValue).filter { $0 >= openedTransaction } }

    /// The state after a commit. No age limit ends the snapshot: whoever holds it keeps the state.
    ///
    /// - Throws: `HornbeamError`: `snapshotExpired` when the state is kept no more, `closed` when the store is.
    package func snapshot(at transaction: UInt64) throws -> StoreSnapshot {
        if let fixedState { return fixedState }
        guard transaction >= openedTransaction else {
            throw HornbeamError(
                .snapshotExpired,
                "The state after commit \(transaction) of “\(location)” cannot be read: it is from before the store was opened with this "
                    + "model. The oldest that can is \(openedTransaction).")
        }
        return try EngineError.translated { () throws(EngineError) in
            try StoreSnapshot(try engine.snapshot(at: TransactionNumber(transaction), isPinned: true), reader: reader)
        }
    }

    /// The newest state, kept for as long as the snapshot is held, whatever is saved meanwhile and however long that takes.
    package func retain() throws -> StoreSnapshot {
        if let fixedState { return fixedState }
        return try EngineError.translated { () throws(EngineError) in
            try StoreSnapshot(try engine.snapshot(isPinned: true), reader: reader)
        }
    }
}
