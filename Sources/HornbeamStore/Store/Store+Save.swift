package import Foundation
internal import HornbeamEngine
package import HornbeamModel

/// A save with an unknown or incomplete outcome (in-doubt transaction). Either a sync failed, and the next opening determines whether the
/// save is durable. Or a two-phase commit is committed, and a participant has not applied its part yet.
package struct DoubtfulSave: Error {
    /// The store that determines the outcome; for a two-phase commit the coordinating store.
    package let store: Store
    package let transaction: UInt64
    /// True when the save is committed and only parts of it are not applied yet.
    package var isDecided = false
    /// The participants of the two-phase commit.
    package var participants: [UUID] = []
    /// The error that the caller of the save receives.
    package var error: HornbeamError
}

extension Store {
    /// True after a failed sync: the store refuses writes until it is opened again.
    package var hasFailed: Bool { engine.failure != nil }

    /// Writes a change set atomically. It is durable on return, unless the store was opened with lazy durability.
    ///
    /// - Throws: `SaveConflicts` when rows changed meanwhile or unique values are taken; `HornbeamError` for values of
    ///   the wrong type and for faults of the files. In these cases nothing is written. `DoubtfulSave` when a sync failed.
    package func save(_ changes: ChangeSet) throws -> SaveReceipt {
        try requireWritable()
        return try changes.weight <= Self.sharedWeightMax && canShareSaves
            ? sharedSaves.save(changes, in: self) : write(changes, passingOn: true)
    }

    /// The largest weight of a save that is executed in a batch with others. A heavier save would delay the others.
    private static let sharedWeightMax = 64

    /// False when each save needs a version of its own: a custom store receives saves one by one, and each retained state is that of one
    /// save. A running two-phase commit must end first.
    private var canShareSaves: Bool {
        backing == nil && joint.isFree && options.retainedGenerations == 0 && options.retainedGenerationsAge == nil
    }

    /// Executes a change set in a transaction of its own.
    ///
    /// - Parameter passingOn: False for changes that come from the custom store itself.
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

    /// Sends changes to the custom store, if there is one.
    func passOn(_ changes: ChangeSet) throws {
        guard let backing, !changes.isEmpty else { return }
        let told = CustomStoreChanges(changes, self)
        try backing.call { try $0.save(told) }
    }

    /// Throws for requests that would bypass the custom store.
    package func requireOwnRows() throws {
        guard backing != nil else { return }
        throw HornbeamError(
            .unsupportedRequest,
            "A custom store takes no batch requests. Fetch the objects, change them and save; or name other stores in affectedStores.")
    }

    /// A conflict reveals other commits, so these must be durable before it is reported.
    func rethrow(_ error: any Error, base transaction: WriteTransaction) throws -> Never {
        switch error {
        case let error as EngineError: throw HornbeamError(error)
        case let conflicts as SaveConflicts:
            try waitForBase(of: transaction)
            throw conflicts
        default: throw error
        }
    }

    /// As `commit`, and marks the save as in doubt when its outcome is unknown.
    func commitOrDoubt(
        _ transaction: WriteTransaction, _ durability: SaveDurability, announcing change: StoreChange
    ) throws -> UInt64 {
        let number = transaction.baseTransaction.rawValue + 1
        do { return try commit(transaction, durability, announcing: change) } catch { throw doubt(error, number) }
    }

    /// The error of a failed save; a `DoubtfulSave` with the transaction when its outcome is unknown.
    func doubt(_ error: any Error, _ transaction: UInt64) -> any Error {
        guard let error = error as? HornbeamError, error.code == .durabilityLost else { return error }
        return DoubtfulSave(store: self, transaction: transaction, error: error)
    }

    /// Commits. Publishes the change when readers see the commit, before this or a later commit returns.
    func commit(
        _ transaction: WriteTransaction, _ durability: SaveDurability, announcing change: StoreChange
    ) throws -> UInt64 {
        try record(change, in: transaction)
        return try EngineError.translated { () throws(EngineError) in
            try transaction.commit(durability.engineLevel, published: announcing(change)).rawValue
        }
    }

    /// Returns a closure that publishes a change with its transaction number.
    func announcing(_ change: StoreChange) -> @Sendable (TransactionNumber) -> Void {
        { [announcer] number in
            var change = change
            change.transaction = number.rawValue
            announcer.announce(change)
        }
    }

    /// Appends the change to the history in the same transaction.
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
        try options.stage?.requireRunning(location)
        try requireNoBatchHere()
    }
}
