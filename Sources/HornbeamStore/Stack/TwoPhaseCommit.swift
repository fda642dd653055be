internal import Foundation
internal import HornbeamThreads
internal import HornbeamEngine
internal import HornbeamModel

/// A two-phase commit: a save over several stores that is atomic across crashes.
///
/// The store with the lowest identity is the coordinating store. Each participant first stores its prepared part durably. Then the
/// coordinating store commits its own part together with the commit record, which commits the save. Then the participants apply their
/// prepared parts. After a crash, `StoreStack.completeInterruptedSaves` applies a prepared part if there is a commit record, and drops it otherwise.
/// The cost is a second sync, and one more for each store after the second. See `Docs/Decisions/050`.
struct TwoPhaseCommit {
    /// Held from the commit record until all parts are readable, and while a snapshot of several stores is taken, so that none contains half a save.
    static let publication = Guarded(())
    /// Held while interrupted two-phase commits are completed. Taken after the turns of the stores.
    static let completion = Guarded(())

    typealias Part = (slot: StoreSlot, store: Store, changes: ChangeSet)

    private let parts: [Part]
    private let id = UUID()

    /// - Parameter parts: At least two stores with the changes of each.
    init(_ parts: [Part]) {
        // A custom store cannot store a commit record, so custom stores sort last.
        self.parts = parts.sorted {
            ($0.store.backing == nil ? 0 : 1, $0.store.identifier.uuidString)
                < ($1.store.backing == nil ? 0 : 1, $1.store.identifier.uuidString)
        }
    }

    private var coordinatingStore: Store { parts[0].store }

    /// Other processes wait until all parts are applied, or the process dies.
    func run() throws -> StackCommitResult { try Store.withTurns(of: parts.map(\.store)) { try runWithTurns() } }

    private func runWithTurns() throws -> StackCommitResult {
        for part in parts { try part.store.requireTwoPhaseCommit() }
        for (count, part) in parts.enumerated() {
            do { try part.store.joint.hold(for: part.store.location) } catch {
                for held in parts[..<count] { held.store.joint.release() }
                throw error
            }
        }
        var stillHeld = parts.map(\.store)
        defer { for store in stillHeld { store.joint.release() } }
        let coordinating = try checked()
        var prepared: [Store] = []
        do {
            for part in parts.dropFirst() {
                try prepare(part)
                prepared.append(part.store)
            }
            for part in parts { try part.store.forwardToCustomStore(part.changes, StoreChange()) }
        } catch {
            coordinating.transaction.abort()
            withdraw(prepared)
            throw error
        }
        return try Self.publication.withLock { _ in
            var commitResult = StackCommitResult(transaction: 0)
            do {
                commitResult.transaction = try writeCommitRecord(coordinating)
            } catch var error as InDoubtSave {
                // The commit record may be durable: only opening the stores again determines the outcome.
                for part in parts.dropFirst() {
                    stillHeld.removeAll { $0 === part.store }
                    doubt(part)
                }
                error.participants = participants
                throw error
            } catch {
                withdraw(prepared)
                throw error
            }
            var finished = TwoPhaseState.Finished(decision: id)
            var failure: HornbeamError?
            for part in parts.dropFirst() {
                do {
                    let number = try part.store.applyPreparedPart(part.changes)
                    finished.participants.append((part.store, number))
                } catch {
                    stillHeld.removeAll { $0 === part.store }
                    doubt(part)
                    failure = failure ?? Self.incomplete(part.store, error)
                }
            }
            if let failure { throw incomplete(failure, commitResult) }
            coordinatingStore.joint.finish(finished)
            return commitResult
        }
    }

    /// Executes all parts to find their conflicts, and throws these together. Returns the open execution of the coordinating store.
    private func checked() throws -> SaveExecution {
        var conflicts: [(slot: StoreSlot, conflicts: SaveConflicts)] = []
        var coordinating: SaveExecution?
        do {
            for (number, part) in parts.enumerated() {
                try part.store.requireWritable()
                let transaction = try EngineError.translated { () throws(EngineError) in try part.store.engine.begin() }
                let execution = SaveExecution(part.changes, transaction: transaction, reader: part.store.reader)
                do {
                    try execution.run()
                    if number == 0 { coordinating = execution } else { transaction.abort() }
                } catch let found as SaveConflicts {
                    try part.store.waitForBase(of: transaction)
                    transaction.abort()
                    conflicts.append((part.slot, found.inSlot(part.slot)))
                } catch {
                    transaction.abort()
                    throw (error as? EngineError).map { HornbeamError($0) } ?? error
                }
            }
            guard conflicts.isEmpty else {
                throw conflicts.sorted { $0.slot < $1.slot }.reduce(into: SaveConflicts()) { $0.add($1.conflicts) }
            }
        } catch {
            coordinating?.transaction.abort()
            throw error
        }
        guard let coordinating else { preconditionFailure("Without conflicts the first store's part was executed.") }
        return coordinating
    }

    private func prepare(_ part: Part) throws {
        let prepared = PreparedChanges(part.changes, decision: id, decider: coordinatingStore, model: part.store.model)
        let bytes = [UInt8](try JSONEncoder().encode(prepared))
        try part.store.setPreparedPart(bytes, .full)
    }

    private func withdraw(_ stores: [Store]) {
        // If removing a prepared part fails, it is dropped when the stores are opened, because there is no commit record.
        for store in stores { try? store.setPreparedPart(nil, .full) }
    }

    private func writeCommitRecord(_ execution: SaveExecution) throws -> UInt64 {
        let transaction = execution.transaction
        do {
            let participants = Data(participants.map(\.uuidString).joined(separator: " ").utf8)
            try EngineError.translated { () throws(EngineError) in
                for old in coordinatingStore.joint.takeFinished() {
                    if old.isDurable {
                        try transaction.setValue(StoredValue.decision(old.decision), nil)
                    } else {
                        coordinatingStore.joint.finish(old)
                    }
                }
                try transaction.setValue(StoredValue.decision(id), [UInt8](participants))
            }
        } catch {
            transaction.abort()
            throw error
        }
        return try coordinatingStore.commitReportingDoubt(transaction, .full, publishing: execution.change)
    }

    private func doubt(_ part: Part) {
        part.store.joint.doubt(
            PreparedChanges(part.changes, decision: id, decider: coordinatingStore, model: part.store.model))
    }

    private var participants: [UUID] { parts.dropFirst().map(\.store.identifier) }

    private func incomplete(_ error: HornbeamError, _ commitResult: StackCommitResult) -> InDoubtSave {
        InDoubtSave(
            store: coordinatingStore, transaction: commitResult.transaction, isCommitted: true, participants: participants, error: error)
    }

    private static func incomplete(_ store: Store, _ cause: any Error) -> HornbeamError {
        HornbeamError(
            .incompleteSave,
            "The save over several stores is committed, but “\(store.location)” could not write its part yet. Nothing is lost and "
                + "nothing is written twice. Remove the cause and save again, or open the stores again: both complete the save.",
            cause: "\(cause)")
    }
}

extension StoredValue {
    /// The name of the prepared part in a participant.
    static let preparedPart = "joint/promise"

    /// The prefix of the names of commit records. A record remains until all participants, which its value names, have applied their parts.
    static let commitRecords = "joint/decision/"
    /// The name of one of the commit records that were removed last, other than by a later save. It differs after each such removal.
    static let removedCommitRecords = "joint/removed"

    static func decision(_ id: UUID) -> String { commitRecords + id.uuidString }
}

extension Store {
    func waitForBase(of transaction: WriteTransaction) throws {
        try EngineError.translated { () throws(EngineError) in
            try engine.waitUntilDurable(transaction.baseTransaction)
        }
    }

    /// Stores or removes a prepared part.
    func setPreparedPart(_ bytes: [UInt8]?, _ durability: SaveDurability) throws {
        try EngineError.translated { () throws(EngineError) in
            let transaction = try engine.begin()
            try transaction.setValue(StoredValue.preparedPart, bytes)
            _ = try transaction.commit(durability.engineLevel)
        }
    }

    /// Applies a prepared part without a sync. The prepared part and the commit record are durable, and remain until the applied part is durable.
    /// In a shared store the part is synced, because other processes see only durable commits.
    func applyPreparedPart(_ changes: ChangeSet) throws -> UInt64 {
        let transaction = try EngineError.translated { () throws(EngineError) in try engine.begin() }
        let execution = SaveExecution(changes, transaction: transaction, reader: reader)
        do {
            try execution.run()
            try transaction.setValue(StoredValue.preparedPart, nil)
        } catch {
            transaction.abort()
            throw (error as? EngineError).map { HornbeamError($0) } ?? error
        }
        return try commit(transaction, isShared ? .full : .lazy(maxDelay: .seconds(1)), publishing: execution.change)
    }
}
