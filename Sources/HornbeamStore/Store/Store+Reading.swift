internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

// A store opened for reading, while another process may write it.

extension Store {
    /// Moves a store that was opened for reading to what has become durable since; true if anything has.
    ///
    /// Snapshots stay what they are. Observers hear of each commit, or of one change without particulars where history does not tell. A
    /// store opened for writing is always at the newest.
    /// - Throws: `modelMismatch` when another process changed the model: the last state of the old one stays readable until the store is
    ///   opened again.
    package func refresh() throws -> Bool {
        guard isReadOnly, fixedState == nil else { return false }
        if let last = lastState.withLock(\.self) { throw last.error }
        let shown = try self.snapshot()
        let known = shown.transaction
        let isNew = try EngineError.translated { () throws(EngineError) in try engine.refresh() }
        guard isNew else { return false }
        let snapshot = try EngineError.translated { () throws(EngineError) in try engine.snapshot() }
        guard try snapshot.value(StoredValue.catalogue) == storedCatalogue else {
            let error = HornbeamError(
                .modelMismatch,
                "Another process changed the model of “\(location)” while it was open here for reading. It shows its last state of the old "
                    + "model. Close it and open it again with the new model.")
            lastState.withLock { $0 = LastState(snapshot: shown, error: error) }
            throw error
        }
        remember(try snapshot.metadata())
        if try !announceHistory(after: known) {
            var change = StoreChange()
            change.transaction = snapshot.transaction.rawValue
            change.isUnknown = true
            announcer.announce(change)
        }
        return true
    }

    /// What is missing because the store was opened at an older state, in words; nil when nothing is.
    package var openingLoss: String? { engine.loss?.description }
}

/// The state at which a store opened for reading stays, and why it does.
struct LastState: Sendable {
    let snapshot: StoreSnapshot
    let error: HornbeamError
}

extension Snapshot {
    /// The values that the app keeps with the store.
    func metadata() throws -> [String: PropertyValue] {
        try value(StoredValue.metadata).map {
            try JSONDecoder().decode([String: PropertyValue].self, from: Data($0))
        } ?? [:]
    }
}
