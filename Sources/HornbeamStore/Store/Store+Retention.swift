internal import HornbeamEngine
internal import HornbeamModel

/// Access to versions before the newest one.
extension Store {
    /// The transactions whose versions can be read now, ascending. An older version is readable while a snapshot of it exists, or as long as
    /// `EngineOptions.retention` retains it.
    package var retainedTransactions: [UInt64] { engine.retainedTransactions.map(\.rawValue).filter { $0 >= openedTransaction } }

    /// Returns a pinned snapshot of the version after a commit. The version stays readable while the snapshot exists.
    ///
    /// - Throws: `HornbeamError`: `snapshotExpired` when the version is no longer retained, `closed` when the store is closed.
    package func snapshot(at transaction: UInt64) throws -> StoreSnapshot {
        if let fixedSnapshot { return fixedSnapshot }
        guard transaction >= openedTransaction else {
            throw HornbeamError(
                .snapshotExpired,
                "The version after commit \(transaction) of “\(location)” cannot be read: it is older than the opening of the store with "
                    + "this model. The oldest readable one is \(openedTransaction).")
        }
        return try EngineError.translated { () throws(EngineError) in
            try StoreSnapshot(try engine.snapshot(at: TransactionNumber(transaction), isPinned: true), reader: reader)
        }
    }

    /// Returns a pinned snapshot of the newest version. The version stays readable while the snapshot exists.
    package func retain() throws -> StoreSnapshot {
        if let fixedSnapshot { return fixedSnapshot }
        let snapshot = try EngineError.translated { () throws(EngineError) in
            try StoreSnapshot(try engine.snapshot(isPinned: true), reader: reader)
        }
        try verifySchema(of: snapshot.engineSnapshot)
        return snapshot
    }
}
