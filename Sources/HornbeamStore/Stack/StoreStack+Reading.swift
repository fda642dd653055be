internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

extension StoreStack {
    // MARK: Stores that other processes write

    /// Snapshots of the newest versions. They contain each two-phase commit of each process completely or not at all.
    ///
    /// - Throws: `busy` when another process does not complete a two-phase commit within the time limit.
    func newestTogether(_ state: (Store) throws -> StoreSnapshot) throws -> StackSnapshot {
        if sharedStores.isEmpty { return try together(state) }
        for _ in 0..<Self.attemptsMax {
            if let snapshot = try sharedTogether(state) { return snapshot }
            usleep(2000)
        }
        // A process died or was stopped before it applied all parts, or others commit all the time.
        try completeInterruptedSaves()
        if let snapshot = try Store.withTurns(of: sharedStores, { try sharedTogether(state) }) { return snapshot }
        throw HornbeamError(
            .incompleteSave, "A save over several stores is not complete. Read again, or open the store that coordinates the save.")
    }

    /// Nil if a part of a two-phase commit is committed and not applied in a snapshot, or if there was a commit meanwhile.
    ///
    /// The coordinating store has the lowest identifier and is read last. So if a part is applied in a snapshot, the snapshot of the coordinating
    /// store has the commit too. It has no commits that are missing in the other snapshots, because its commit records are those from before.
    private func sharedTogether(_ state: (Store) throws -> StoreSnapshot) throws -> StackSnapshot? {
        try TwoPhaseCommit.publication.withLock { _ in
            let coordinatingStores = sharedStores.dropLast()
            let before = try coordinatingStores.map { store in
                try store.refreshUnlessSuperseded()
                return try TwoPhaseCommit.Records(in: store.snapshot())
            }
            var taken: [ObjectIdentifier: StoreSnapshot] = [:]
            for store in sharedStores.reversed() {
                try store.refreshUnlessSuperseded()
                taken[ObjectIdentifier(store)] = try state(store)
            }
            for (store, records) in zip(coordinatingStores, before) {
                guard let snapshot = taken[ObjectIdentifier(store)], try records.areThose(of: snapshot) else { return nil }
            }
            for store in sharedStores {
                guard let snapshot = taken[ObjectIdentifier(store)], let prepared = try store.preparedPart(in: snapshot.engineSnapshot),
                    let decider = slot(of: prepared.decider).flatMap({ self[$0]?.store }), let other = taken[ObjectIdentifier(decider)]
                else { continue }
                let name = StoredValue.decision(prepared.decision)
                if try EngineError.translated({ () throws(EngineError) in try other.engineSnapshot.value(name) != nil }) { return nil }
            }
            return StackSnapshot(try parts.map { part in try part.map { try taken[ObjectIdentifier($0.store)] ?? state($0.store) } }, stack: self)
        }
    }

    /// Switches all stores that were opened for reading, or that several processes write, to their newest durable version. Returns true if any of
    /// these is newer.
    ///
    /// The versions contain each two-phase commit completely or not at all: a part that is committed but not applied is applied in memory.
    /// - Throws: The errors of `Store.refresh`; `inputOutput` when a writer commits too often to read the stores together.
    package func refresh() throws -> Bool {
        try TwoPhaseCommit.publication.withLock { _ in
            // The coordinating store has the lowest identity and is read first. So each part that it committed is found in the participant's
            // store, either prepared or already applied.
            let readers = stores.filter(\.isReadOnly).sorted { $0.identifier.uuidString < $1.identifier.uuidString }
            var isNew = try refreshTogether(readers)
            for store in readers where try showCommittedPart(of: store) { isNew = true }
            for store in stores where store.isShared { if try store.refresh() { isNew = true } }
            return isNew
        }
    }

    private static let attemptsMax = 20

    /// Refreshes the stores until no coordinating store writes a commit record meanwhile.
    private func refreshTogether(_ readers: [Store]) throws -> Bool {
        var isNew = false
        for _ in 0..<Self.attemptsMax {
            for store in readers where try store.refresh() { isNew = true }
            let coordinatingStores = readers.dropLast()
            let before = try coordinatingStores.map { try TwoPhaseCommit.Records(in: $0.snapshot()) }
            for store in coordinatingStores where try store.refresh() { isNew = true }
            if try zip(coordinatingStores, before).allSatisfy({ store, records in try records.areThose(of: store.snapshot()) }) { return isNew }
        }
        throw HornbeamError(
            .inputOutput, "Another process saves faster than the stores can be read together. Try again when it is less busy.")
    }

    /// Applies the prepared part of a store in memory, if the coordinating store is open and has the commit record. Returns true if it did.
    private func showCommittedPart(of store: Store) throws -> Bool {
        guard let prepared = try store.preparedPart(), let decider = slot(of: prepared.decider).flatMap({ self[$0]?.store }) else {
            return false
        }
        let isCommitted = try EngineError.translated { () throws(EngineError) in
            try decider.engine.snapshot().value(StoredValue.decision(prepared.decision)) != nil
        }
        guard isCommitted else { return false }
        try store.show(prepared.changeSet(for: store))
        return true
    }
}

extension TwoPhaseCommit {
    /// The commit records of a coordinating store in one version. If those of a later version are the same, no two-phase commit was executed between the two.
    fileprivate struct Records {
        private let transaction: UInt64
        private let names: [String]
        private let removal: [UInt8]?

        init(in snapshot: StoreSnapshot) throws {
            transaction = snapshot.transaction
            (names, removal) = try EngineError.translated { () throws(EngineError) in
                let engine = snapshot.engineSnapshot
                return (try engine.valueNames(startingWith: StoredValue.commitRecords), try engine.value(StoredValue.removedCommitRecords))
            }
        }

        func areThose(of snapshot: StoreSnapshot) throws -> Bool {
            if snapshot.transaction == transaction { return true }
            let other = try Records(in: snapshot)
            return other.names == names && other.removal == removal
        }
    }
}

extension Store {
    /// Reads the commits of other processes. A store whose model another process has changed shows its last state.
    fileprivate func refreshUnlessSuperseded() throws {
        if others.lastReadable != nil { return }
        do { _ = try refresh() } catch where others.lastReadable != nil { return }
    }

    /// Applies a prepared part in memory, for a store that cannot be written.
    fileprivate func show(_ changes: ChangeSet) throws {
        do {
            try engine.overlay { transaction in
                try SaveExecution(changes, transaction: transaction, reader: reader).run()
                try transaction.setValue(StoredValue.preparedPart, nil)
            }
        } catch let error as EngineError { throw HornbeamError(error) }
        var change = StoreChange()
        change.transaction = latestTransaction
        change.isUnknown = true
        publisher.publish(change)
    }
}
