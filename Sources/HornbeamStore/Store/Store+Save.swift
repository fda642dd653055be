package import Foundation
internal import HornbeamEngine
package import HornbeamModel

/// A save that is not over. Either nobody knows whether it is durable, since a sync failed, and opening the store again tells. Or it
/// was over several stores and has happened, and one of them could not write its part yet.
package struct DoubtfulSave: Error {
    /// Where to look; of a save over several stores the one that decides.
    package let store: Store
    package let transaction: UInt64
    /// True when the save has happened, and only parts of it are still to be written.
    package var isDecided = false
    /// The stores that write their parts after the decision.
    package var participants: [UUID] = []
    /// What users see.
    package var error: HornbeamError
}

extension Store {
    /// True after a sync failed: nothing can be written until the store is opened again.
    package var hasFailed: Bool { engine.failure != nil }

    /// Writes a change set: all or nothing, durable when it returns (unless the store was opened with lazy durability).
    ///
    /// - Throws: `SaveConflicts` when rows changed meanwhile or unique values are taken; `HornbeamError` for values of
    ///   the wrong type and for what goes wrong below. Nothing is written then. `DoubtfulSave` when a sync failed.
    package func save(_ changes: ChangeSet) throws -> SaveReceipt {
        try requireWritable()
        return try changes.weight <= Self.sharedWeightMax && canShareSaves
            ? sharedSaves.save(changes, in: self) : write(changes, passingOn: true)
    }

    /// The weight of a save that may share a version with others; larger ones do not make others wait.
    private static let sharedWeightMax = 64

    /// A custom store is told by whoever saves, states that are kept are one save apart, and a save over several stores comes first.
    private var canShareSaves: Bool {
        backing == nil && joint.isFree && options.retainedGenerations == 0 && options.retainedGenerationsAge == nil
    }

    /// Carries out a change set by itself.
    ///
    /// - Parameter passingOn: False for what comes from the custom store itself.
    func write(_ changes: ChangeSet, passingOn: Bool) throws -> SaveReceipt {
        let transaction = try beginTransaction()
        let execution = SaveExecution(changes, transaction: transaction, reader: reader)
        do {
            try execution.run()
            if passingOn { try passOn(changes) }
        } catch {
            transaction.abort()
            try rethrow(error, base: transaction)
        }
        return SaveReceipt(transaction: try commitOrDoubt(transaction, durability, announcing: execution.change))
    }

    /// Hands changes to the custom store, where there is one.
    func passOn(_ changes: ChangeSet) throws {
        guard let backing, !changes.isEmpty else { return }
        let told = CustomStoreChanges(changes, self)
        try backing.call { try $0.save(told) }
    }

    /// Refuses what goes past the custom store.
    package func requireOwnRows() throws {
        guard backing != nil else { return }
        throw HornbeamError(
            .unsupportedRequest,
            "A custom store takes no batch requests. Fetch the objects, change them and save; or name other stores in affectedStores.")
    }

    /// A conflict tells of other commits, so these must have reached the disk before it is reported.
    func rethrow(_ error: any Error, base transaction: WriteTransaction) throws -> Never {
        switch error {
        case let error as EngineError: throw HornbeamError(error)
        case let conflicts as SaveConflicts:
            try waitForBase(of: transaction)
            throw conflicts
        default: throw error
        }
    }

    /// As `commit`, for changes that somebody will want to save again.
    func commitOrDoubt(
        _ transaction: WriteTransaction, _ durability: SaveDurability, announcing change: StoreChange
    ) throws -> UInt64 {
        let number = transaction.baseTransaction.rawValue + 1
        do { return try commit(transaction, durability, announcing: change) } catch { throw doubt(error, number) }
    }

    /// What a save that failed throws: where nobody knows whether it is on the disk, which one to look for.
    func doubt(_ error: any Error, _ transaction: UInt64) -> any Error {
        guard let error = error as? HornbeamError, error.code == .durabilityLost else { return error }
        return DoubtfulSave(store: self, transaction: transaction, error: error)
    }

    /// Commits, and announces once readers see the commit, before this or any later commit returns.
    func commit(
        _ transaction: WriteTransaction, _ durability: SaveDurability, announcing change: StoreChange
    ) throws -> UInt64 {
        try record(change, in: transaction)
        return try EngineError.translated { () throws(EngineError) in
            try transaction.commit(durability.engineLevel, published: announcing(change)).rawValue
        }
    }

    /// Tells observers of a change, once its transaction is known.
    func announcing(_ change: StoreChange) -> @Sendable (TransactionNumber) -> Void {
        { [announcer] number in
            var change = change
            change.transaction = number.rawValue
            announcer.announce(change)
        }
    }

    /// Puts the change into history, which is committed with it or not at all.
    func record(_ change: StoreChange, in transaction: WriteTransaction) throws {
        guard let history, !change.isEmpty else { return }
        do throws(EngineError) { try history.record(change, in: transaction) } catch {
            transaction.abort()
            throw HornbeamError(error)
        }
    }

    func requireWritable() throws {
        if isReadOnly {
            throw HornbeamError(
                .readOnly, "“\(location)” was opened for reading only. Open it for writing to change it.")
        }
        try requireNoBatchHere()
    }
}
