package import Foundation

/// States before the newest one, of all stores together.
extension StoreStack {
    /// The newest state, kept for as long as the snapshot is held, whatever is saved meanwhile and however long that takes.
    package func retain() throws -> StackSnapshot {
        try together { try $0.retain() }
    }

    /// The state after a commit of each store that is named; of the others the newest.
    ///
    /// - Throws: `snapshotExpired` when a store keeps that state no more, `closed` when there is no store.
    package func snapshot(at transactions: [UUID: UInt64]) throws -> StackSnapshot {
        try together { store in
            try transactions[store.identifier].map { try store.snapshot(at: $0) } ?? store.retain()
        }
    }
}
