internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

// Stores that are opened for reading while another process may write.

extension Store {
    /// Switches a store that was opened for reading to the newest durable state. Returns true if there is a newer one.
    ///
    /// Existing snapshots do not change. Observers receive each commit, or one change without details when history lacks the commits. A
    /// store opened for writing is always at the newest state.
    /// - Throws: `modelMismatch` when another process changed the model: the last state of the old model stays readable until the
    ///   store is opened again.
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

    /// Describes the commits that are missing because the store was opened at an older state; nil if none are.
    package var openingLoss: String? { engine.loss?.description }
}

/// The last state of a store opened for reading, and the reason why it does not advance.
struct LastState: Sendable {
    let snapshot: StoreSnapshot
    let error: HornbeamError
}

extension Snapshot {
    /// The program's own values that are stored with the store; `ofStage`: or those that the code of a running stage has set.
    func metadata(ofStage: Bool = false) throws -> [String: PropertyValue] {
        let bytes = try (ofStage ? value(StoredValue.stageMetadata) : nil) ?? value(StoredValue.metadata)
        return try bytes.map { try JSONDecoder().decode([String: PropertyValue].self, from: Data($0)) } ?? [:]
    }
}
