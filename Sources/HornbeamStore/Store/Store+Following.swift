internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads
internal import Synchronization

// Stores that several processes write in turns. The engine calls the follower in commit order: when this process reads commits of others, and each
// time that it takes the turn, before its own transactions begin. So observers receive all commits in the order of their numbers.

extension Store {
    /// Begins to publish the commits of other processes. No effect if the store is not shared.
    func followOtherProcesses() {
        guard isShared else { return }
        engine.follow { [weak self] (followed) throws(EngineError) in try self?.receive(followed) }
    }

    private func receive(_ followed: Engine.Followed) throws(EngineError) {
        do { try receiveCommits(followed) } catch {
            let error = error as? EngineError ?? EngineError(HornbeamError(wrapping: error))
            if error.code != .schemaChanged {
                // The next call begins after these commits.
                publishUnknownChange(engine.latest.rawValue)
                others.isHistoryBehind.store(true, ordering: .releasing)
            }
            throw error
        }
    }

    /// Publishes that anything may have changed, so that contexts compare all their objects.
    func publishUnknownChange(_ transaction: UInt64) {
        var change = StoreChange()
        change.transaction = transaction
        change.isUnknown = true
        publisher.publish(change)
    }

    private func receiveCommits(_ followed: Engine.Followed) throws {
        let readings = engine.readingsOfOthers
        let snapshot = try snapshot()
        if let last = others.lastReadable { throw last.error }
        others.verifiedReadings.store(readings, ordering: .releasing)
        if followed.hasTurn { try readPreparedPart(in: snapshot) }
        if others.isHistoryBehind.load(ordering: .acquiring) { try takeOverHistory(snapshot.engineSnapshot) }
        guard snapshot.transaction > followed.after.rawValue else { return }
        try cacheMetadata(of: snapshot.engineSnapshot)
        let isComplete = try publishHistory(after: followed.after.rawValue)
        if !isComplete { publishUnknownChange(snapshot.transaction) }
        try takeOverHistory(snapshot.engineSnapshot)
    }

    /// Reads the hints about history, which another process may have begun.
    private func takeOverHistory(_ snapshot: Snapshot) throws {
        if let history { try history.takeOver(snapshot) } else if let tree = snapshot.tree(named: HistoryKey.treeName) {
            let history = try HistoryLog.kept(in: tree, as: options, reader, snapshot)
            others.begunHistory.withLock { $0 = history }
        }
        others.isHistoryBehind.store(false, ordering: .releasing)
    }

    /// A prepared part beside the turn belongs to a process that died in a two-phase commit, since a living one keeps the turns of all its stores.
    private func readPreparedPart(in snapshot: StoreSnapshot) throws {
        let prepared = try preparedPart(in: snapshot.engineSnapshot)
        if let prepared { return joint.doubt(prepared) }
        if joint.prepared != nil { joint.release() }
    }

    // MARK: The schema

    /// Throws `modelMismatch` if a snapshot may contain commits of another process and has another schema than this store.
    func verifySchema(of snapshot: Snapshot) throws {
        guard isShared, engine.readingsOfOthers != others.verifiedReadings.load(ordering: .acquiring) else { return }
        guard try snapshot.value(StoredValue.catalogue) != storedCatalogue else { return }
        others.setLastReadable(LastReadableVersion(snapshot: newestInUse, error: schemaChanged))
        throw schemaChanged
    }

    private var schemaChanged: HornbeamError {
        HornbeamError(
            .modelMismatch,
            "Another process changed the model of “\(location)” while it was open here. Nothing was saved. Close it and open it again with the "
                + "new model.")
    }

    // MARK: Several transactions

    /// Runs a body while no other process can write to a shared store. Transactions of this process can.
    func withTurn<R>(_ body: () throws -> R) throws -> R {
        try EngineError.translated { () throws(EngineError) in try engine.holdTurn() }
        defer { engine.releaseTurn() }
        return try body()
    }

    /// Runs a body while no other process can write to any of several shared stores. Takes the turns in the order of the stores' identifiers, so
    /// processes do not wait for each other in a cycle.
    static func withTurns<R>(of stores: [Store], _ body: () throws -> R) throws -> R {
        let ordered = stores.filter(\.isShared).sorted { $0.identifier.uuidString < $1.identifier.uuidString }
        var held: [Store] = []
        defer { for store in held.reversed() { store.engine.releaseTurn() } }
        for store in ordered {
            try EngineError.translated { () throws(EngineError) in try store.engine.holdTurn() }
            held.append(store)
        }
        return try body()
    }
}

extension EngineError {
    /// The error of a follower.
    fileprivate init(_ error: HornbeamError) { self.init(error.code == .modelMismatch ? .schemaChanged : .inputOutput, error.message) }
}

extension HornbeamError {
    /// The error itself, or one with its text.
    fileprivate init(wrapping error: any Error) {
        if let error = error as? HornbeamError { self = error } else { self.init(.storeOperationFailed, "\(error)") }
    }
}
