internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

extension StoreStack {
    /// Moves the stores that were opened for reading to what has become durable since, all together; true if anything has.
    ///
    /// No save over several stores is half in what they show then: a part that was decided and not written yet is carried out in
    /// memory.
    /// - Throws: As `Store.refresh`; `inputOutput` when a writer is faster than the stores can be read together.
    package func refresh() throws -> Bool {
        try JointSave.publication.withLock { _ in
            // The store with the lowest identity decides, so it is read first: a part that it decided is then found, promised or written.
            let readers = stores.filter(\.isReadOnly).sorted { $0.identifier.uuidString < $1.identifier.uuidString }
            var isNew = try refreshTogether(readers)
            for store in readers where try showDecidedPart(of: store) { isNew = true }
            return isNew
        }
    }

    private static let attemptsMax = 20

    /// Reads the stores until none has decided a save after the others were read.
    private func refreshTogether(_ readers: [Store]) throws -> Bool {
        var isNew = false
        for _ in 0..<Self.attemptsMax {
            for store in readers where try store.refresh() { isNew = true }
            let deciders = readers.dropLast()
            let decisions = try deciders.map { try $0.decisions() }
            for store in deciders where try store.refresh() { isNew = true }
            if try deciders.map({ try $0.decisions() }) == decisions { return isNew }
        }
        throw HornbeamError(
            .inputOutput, "Another process saves faster than the stores can be read together. Try again when it is less busy.")
    }

    /// Shows what a store promised to write, if the store that decided about it is here and says so; true if it did.
    private func showDecidedPart(of store: Store) throws -> Bool {
        guard let promise = try store.promise(), let decider = slot(of: promise.decider).flatMap({ self[$0]?.store }) else {
            return false
        }
        let isDecided = try EngineError.translated { () throws(EngineError) in
            try decider.engine.snapshot().value(StoredValue.decision(promise.decision)) != nil
        }
        guard isDecided else { return false }
        try store.show(promise.changeSet(for: store))
        return true
    }
}

extension Store {
    /// The names of the saves that this store has decided and not all participants have written for sure.
    fileprivate func decisions() throws -> [String] {
        try EngineError.translated { () throws(EngineError) in
            try engine.snapshot().valueNames(startingWith: StoredValue.decisions)
        }
    }

    /// Carries out what was promised in memory, where nothing can be written.
    fileprivate func show(_ changes: ChangeSet) throws {
        do {
            try engine.overlay { transaction in
                try SaveExecution(changes, transaction: transaction, reader: reader).run()
                try transaction.setValue(StoredValue.promise, nil)
            }
        } catch let error as EngineError { throw HornbeamError(error) }
        var change = StoreChange()
        change.transaction = latestTransaction
        change.isUnknown = true
        announcer.announce(change)
    }
}
