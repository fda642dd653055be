internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

extension StoreStack {
    /// Switches all stores that were opened for reading to their newest durable version. Returns true if any of these is newer.
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
            let commitRecords = try coordinatingStores.map { try $0.commitRecords() }
            for store in coordinatingStores where try store.refresh() { isNew = true }
            if try coordinatingStores.map({ try $0.commitRecords() }) == commitRecords { return isNew }
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

extension Store {
    /// The names of the commit records of this store. Their participants may not have applied their parts yet.
    fileprivate func commitRecords() throws -> [String] {
        try EngineError.translated { () throws(EngineError) in
            try engine.snapshot().valueNames(startingWith: StoredValue.commitRecords)
        }
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
