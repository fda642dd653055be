internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

extension StoreStack {
    /// Completes two-phase commits that a crash interrupted, if their coordinating stores are in the stack. Parts of read-only stores are
    /// applied in memory.
    ///
    /// - Throws: The error of a store that cannot apply its prepared part.
    package func completeInterruptedSaves() throws {
        if try isComplete() { return try refreshReaders() }
        // With the turns of all stores, no other process is in a two-phase commit over them.
        // Threads that complete one save follow each other: a part is applied once.
        try Store.withTurns(of: stores) { try TwoPhaseCommit.completion.withLock { _ in try completeWithTurns() } }
        try refreshReaders()
    }

    /// True if no store has a prepared part or a commit record that needs work.
    private func isComplete() throws -> Bool {
        try EngineError.translated { () throws(EngineError) in
            for part in parts {
                guard let store = part?.store, !store.isReadOnly else { continue }
                let snapshot = try store.engine.snapshot()
                if store.joint.prepared != nil { return false }
                if store.isShared, try snapshot.value(StoredValue.preparedPart) != nil { return false }
                let records = Set(try snapshot.valueNames(startingWith: StoredValue.commitRecords))
                if !records.subtracting(store.joint.recentCommitRecords).isEmpty { return false }
            }
            return true
        }
    }

    private func refreshReaders() throws {
        if stores.count > 1, stores.contains(where: \.isReadOnly) { _ = try refresh() }
    }

    private func completeWithTurns() throws {
        for part in parts {
            guard let store = part?.store, !store.isReadOnly, let prepared = store.joint.prepared else { continue }
            guard let slot = slot(of: prepared.decider), let decider = self[slot]?.store else { continue }
            guard let isCommitted = try isCommitted(prepared, by: decider) else { continue }
            if isCommitted {
                _ = try store.applyPreparedPart(prepared.changeSet(for: store))
            } else {
                try store.setPreparedPart(nil, .full)
            }
            store.joint.release()
        }
        for part in parts {
            if let store = part?.store, !store.isReadOnly { try removeCommitRecords(of: store) }
        }
    }

    /// Whether the coordinating store has the commit record of a prepared part. Nil if the store is open for reading and does not show the record: the
    /// record may be in the log, and the next process that writes the store makes it durable.
    private func isCommitted(_ prepared: PreparedChanges, by decider: Store) throws -> Bool? {
        if decider.isReadOnly, decider.others.lastReadable == nil { _ = try decider.refresh() }
        let hasRecord = try EngineError.translated { () throws(EngineError) in
            try decider.engine.snapshot().value(StoredValue.decision(prepared.decision)) != nil
        }
        return decider.isReadOnly && !hasRecord ? nil : hasRecord
    }

    /// Removes commit records of a former process, if all their participants are open and have no prepared part.
    ///
    /// A running two-phase commit of this process still needs its commit record, though no store is in doubt. Then a later call removes the records.
    private func removeCommitRecords(of store: Store) throws {
        guard store.joint.holdIfFree() else { return }
        defer { store.joint.release() }
        try EngineError.translated { () throws(EngineError) in try removeObsoleteCommitRecords(of: store) }
    }

    private func removeObsoleteCommitRecords(of store: Store) throws(EngineError) {
        let snapshot = try store.engine.snapshot()
        let names = try snapshot.valueNames(startingWith: StoredValue.commitRecords)
        let recent = store.joint.recentCommitRecords
        var old: [String] = []
        for name in names where !recent.contains(name) {
            if isObsolete(try snapshot.value(name) ?? []) { old.append(name) }
        }
        guard !old.isEmpty else { return }
        let transaction = try store.engine.begin()
        for name in old { try transaction.setValue(name, nil) }
        try transaction.setValue(StoredValue.removedCommitRecords, [UInt8](old[0].utf8))
        _ = try transaction.commit(.lazy(maxDelay: .seconds(1)))
    }

    private func isObsolete(_ participants: [UInt8]) -> Bool {
        String(decoding: participants, as: UTF8.self).split(separator: " ").allSatisfy { text in
            guard let slot = slot(of: UUID(uuidString: String(text))), let store = self[slot]?.store else {
                return false
            }
            // Applied parts must be durable first; else a crash could restore a prepared part without its commit record.
            return !store.isReadOnly && store.joint.prepared == nil && store.isSynced
        }
    }

    // MARK: Saves in doubt

    /// The outcome of an in-doubt save. Applies parts that could not be applied before.
    ///
    /// - Throws: The error of a store that still cannot apply its part.
    package func outcome(of save: InDoubtSave) throws -> SaveOutcome {
        let stores = ([save.store.identifier] + save.participants).map { id in slot(of: id).flatMap { self[$0]?.store } }
        // A querying store may be added again, and new objects stay in their contexts meanwhile.
        guard let store = stores[0] else { return save.participants.isEmpty && save.querying == nil ? .dropped : .unknown }
        if let doubt = save.querying { return try store.wasWritten(doubt) ? .kept : .dropped }
        if !save.isCommitted {
            guard store !== save.store else { return .unknown }
            let isDurable = try store.isShared ? store.isCommit(save.transaction, of: save.store) : store.recoveredTransaction >= save.transaction
            guard let isDurable else { return .unknown }
            guard isDurable else { return .dropped }
        }
        guard stores.allSatisfy({ $0 != nil }) else { return .unknown }
        if stores.contains(where: { $0?.joint.prepared != nil }) { try completeInterruptedSaves() }
        return .kept
    }
}

/// The outcome of a save that was in doubt.
package enum SaveOutcome {
    /// One of its stores failed and was not opened again, or was removed.
    case unknown
    case dropped
    /// The save is committed in all stores.
    case kept
}

extension Store {
    /// Waits until all readable commits are durable. Returns true if they are.
    fileprivate var isSynced: Bool { (try? engine.waitUntilDurable(engine.latest)) != nil }

    /// Marks the store as in doubt if it has a prepared part when it is opened.
    func loadPreparedPart() throws {
        if let prepared = try preparedPart() { joint.doubt(prepared) }
    }

    /// The prepared part in the newest version.
    func preparedPart() throws -> PreparedChanges? {
        try preparedPart(in: EngineError.translated { () throws(EngineError) in try engine.snapshot() })
    }
}
