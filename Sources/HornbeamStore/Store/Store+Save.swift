package import Foundation
internal import HornbeamEngine
package import HornbeamModel

/// A save with an unknown or incomplete outcome (in-doubt transaction). Either a sync failed, and the next opening determines whether the
/// save is durable. Or a two-phase commit is committed, and a participant has not applied its part yet.
package struct InDoubtSave: Error {
    /// The store that determines the outcome; for a two-phase commit the coordinating store.
    package let store: Store
    package let transaction: UInt64
    /// True when the save is committed and only parts of it are not applied yet.
    package var isCommitted = false
    /// The participants of the two-phase commit.
    package var participants: [UUID] = []
    /// The save of a querying store.
    var querying: QueryingDoubt?
    /// The error that the caller of the save receives.
    package var error: HornbeamError
}

extension Store {
    /// True after a failed sync: the store refuses writes until it is opened again.
    package var hasFailed: Bool { engine.failure != nil }

    /// Writes a change set atomically. It is durable on return, unless the store was opened with lazy durability.
    ///
    /// - Throws: `SaveConflicts` when rows changed meanwhile or unique values are taken; `HornbeamError` for values of
    ///   the wrong type and for errors of the files. In these cases nothing is written. `InDoubtSave` when a sync failed.
    package func save(_ changes: ChangeSet) throws -> CommitResult {
        try requireWritable()
        if let backing, backing.querying != nil { return try save(changes, in: backing) }
        return try write(changes, forwarding: true, isShared: canGroupSaves && changes.weighs(atMost: Self.groupedWeightMax))
    }

    /// The largest weight of a save that shares a version with others. A heavier save would delay the others.
    private static let groupedWeightMax = 64

    /// False when each save needs a version of its own: a custom store receives saves one by one, and retention counts each save as a
    /// version. Also false during a two-phase commit.
    private var canGroupSaves: Bool {
        backing == nil && joint.isFree && options.retainedGenerations == 0 && options.retainedGenerationsAge == nil
    }

    /// Executes a change set in a transaction with a number of its own.
    ///
    /// - Parameters:
    ///   - forwarding: False for changes that come from the custom store itself.
    ///   - announced: Changes of the custom store to publish with those of the cache.
    func write(
        _ changes: ChangeSet, forwarding: Bool, isShared: Bool = false, announcing announced: StoreChange? = nil
    ) throws -> CommitResult {
        let work: CommitQueue.Work = { [self] transaction in
            let execution = SaveExecution(
                changes, transaction: transaction, reader: reader, buffers: isShared ? turnBuffers.buffers(schema) : nil)
            execution.checksMembers = reader.hasAllRows || forwarding && isQuerying
            try execution.run()
            if forwarding { try forwardToCustomStore(changes, execution.change) }
            if let announced { return publishing(try merged(announced, execution.change, transaction)) }
            try record(execution.change, in: transaction)
            return publishing(execution.change)
        }
        do {
            let number = try engine.queue.commit(durability.engineLevel, isShared: isShared, begin: beginTransaction, work)
            return CommitResult(transaction: number.rawValue)
        } catch let refused as RefusedWork {
            try rethrow(refused.error, base: refused.base)
        } catch let failed as FailedCommit {
            throw doubt(HornbeamError(failed.error), failed.number.rawValue)
        }
    }

    /// The changes of a batch that the custom store has executed, with those of the cache.
    private func merged(_ announced: StoreChange, _ cached: StoreChange, _ transaction: WriteTransaction) throws -> StoreChange {
        // A commit without changes is not published.
        _ = try EngineError.translated { () throws(EngineError) in try transaction.reserve(1) }
        var (change, cached) = (announced, cached)
        // The batch names these objects: it deletes them, or updates objects that were not cached.
        (cached.inserted, cached.deleted) = ([], [])
        change.merge(cached)
        return change
    }

    /// The number of times that a save is checked again because a querying store refused it.
    static let refusalsMax = 10

    /// Writes a change set into a querying store and the cache. When the store refuses it, the newest rows are cached, and the save is checked
    /// again: usually it then throws `SaveConflicts`.
    private func save(_ changes: ChangeSet, in backing: StoreBacking) throws -> CommitResult {
        try cacheNewMembers(changes)
        return try backing.saving {
            for attempt in 0 ..< Self.refusalsMax {
                let written = backing.writtenSaves
                do {
                    let result = try write(changes, forwarding: true)
                    backing.setVersions(after: changes)
                    // After a refusal, the rows of other objects were cached too.
                    if attempt == 0 { backing.noteSave(changes) }
                    return result
                } catch let conflict as CustomStoreConflict {
                    try updateCache(conflict.rows, without: try conflict.deleted.map(reference))
                    try requireReferences(changes, conflict)
                } catch let violation as CustomStoreViolation {
                    throw try refusal(violation)
                } catch let doubt as CustomStoreDoubt {
                    throw InDoubtSave(store: self, transaction: 0, querying: QueryingDoubt(doubt.token, CustomStoreChanges(changes, self)), error: doubt.error)
                } catch where backing.writtenSaves != written {
                    throw InDoubtSave(
                        store: self, transaction: 0, querying: QueryingDoubt(nil, CustomStoreChanges(changes, self)),
                        error: cacheFailed(error, "written the save", "The context reads them before its next fetch or save. Nothing is written twice."))
                }
            }
            throw refusedTooOften
        }
    }

    var refusedTooOften: HornbeamError {
        HornbeamError(
            .mergeConflict,
            "The store refused the save \(Self.refusalsMax) times, because other processes changed its objects meanwhile. Nothing was written. "
                + "Save again.")
    }

    func reference(_ object: CustomStoreKey) throws -> ObjectReference {
        ObjectReference(try model.entity(named: object.entityName), object.key)
    }

    /// Sends changes to the custom store, if there is one.
    ///
    /// - Parameter change: All changed objects, for the history of the custom store.
    func forwardToCustomStore(_ changes: ChangeSet, _ change: StoreChange) throws {
        guard let backing, !changes.isEmpty else { return }
        var customChanges = CustomStoreChanges(changes, self)
        customChanges.history = try historyEntry(change)
        try backing.call { try $0.save(customChanges) }
        backing.countWrittenSave()
    }

    /// Throws for a custom store that does not answer queries.
    package func requireBatches() throws {
        guard backing != nil, !isQuerying else { return }
        throw HornbeamError(
            .unsupportedRequest,
            "A custom store takes no batch requests. Fetch the objects, change them and save; or name other stores in affectedStores.")
    }

    /// Throws the error of a save. A conflict reveals other commits, so it is thrown after they are durable.
    private func rethrow(_ error: any Error, base: TransactionNumber) throws -> Never {
        switch error {
        case let error as EngineError: throw HornbeamError(error)
        case let conflicts as SaveConflicts:
            try EngineError.translated { () throws(EngineError) in try engine.waitUntilDurable(base) }
            throw conflicts
        default: throw error
        }
    }

    /// Like `commit`, but throws `InDoubtSave` when the outcome is unknown.
    func commitReportingDoubt(
        _ transaction: WriteTransaction, _ durability: SaveDurability, publishing change: StoreChange
    ) throws -> UInt64 {
        let number = transaction.baseTransaction.rawValue + 1
        do { return try commit(transaction, durability, publishing: change) } catch { throw doubt(error, number) }
    }

    /// The error of a failed save; an `InDoubtSave` with the transaction when its outcome is unknown.
    func doubt(_ error: any Error, _ transaction: UInt64) -> any Error {
        guard let error = error as? HornbeamError, error.code == .durabilityLost else { return error }
        return InDoubtSave(store: self, transaction: transaction, error: error)
    }

    /// Commits a transaction. Publishes its change as soon as readers see the commit. No later commit returns before that.
    func commit(
        _ transaction: WriteTransaction, _ durability: SaveDurability, publishing change: StoreChange
    ) throws -> UInt64 {
        try record(change, in: transaction)
        return try EngineError.translated { () throws(EngineError) in
            try transaction.commit(durability.engineLevel, published: publishing(change)).rawValue
        }
    }

    /// Returns a closure that publishes a change with its transaction number.
    func publishing(_ change: StoreChange) -> @Sendable (TransactionNumber) -> Void {
        { [publisher] number in
            var change = change
            change.transaction = number.rawValue
            publisher.publish(change)
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
        try requireOutsideBatchHandler()
    }
}

/// Row buffers that are used with the writer's turn.
///
/// `@unchecked Sendable`: one transaction runs at a time.
final class TurnBuffers: @unchecked Sendable {
    private var rows: RowBuffers?

    func buffers(_ schema: Schema) -> RowBuffers {
        let buffers = rows ?? RowBuffers(schema)
        rows = buffers
        return buffers
    }
}
