internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

extension StoreStack {
    /// Ends joint saves that a crash cut short, as far as the stores that decided them are here.
    ///
    /// - Throws: The error of a store that cannot write what it promised.
    package func settle() throws {
        for part in parts {
            guard let store = part?.store, !store.isReadOnly, let promise = store.joint.prepared else { continue }
            guard let slot = slot(of: promise.decider), let decider = self[slot]?.store else { continue }
            let name = StoredValue.decision(promise.decision)
            let isDecided = try EngineError.translated { () throws(EngineError) in
                try decider.engine.snapshot().value(name) != nil
            }
            if isDecided {
                let number = try store.fulfil(promise.changeSet(for: store))
                decider.joint.finish(JointState.Finished(decision: promise.decision, participants: [(store, number)]))
            } else {
                try store.setPromise(nil, .full)
            }
            store.joint.release()
        }
        for part in parts {
            if let store = part?.store, !store.isReadOnly { try forgetDecisions(of: store) }
        }
    }

    /// Removes the decisions that a former process left, whose participants are all here and ask for none.
    private func forgetDecisions(of store: Store) throws {
        // Not in the middle of a joint save, whose decision is still needed though nobody is in doubt.
        try JointSave.publication.withLock { _ in
            try EngineError.translated { () throws(EngineError) in try forgetFulfilledDecisions(of: store) }
        }
    }

    private func forgetFulfilledDecisions(of store: Store) throws(EngineError) {
        let snapshot = try store.engine.snapshot()
        let names = try snapshot.valueNames(startingWith: StoredValue.decisions)
        let recent = store.joint.recentDecisions
        var old: [String] = []
        for name in names where !recent.contains(name) {
            if isFulfilled(try snapshot.value(name) ?? []) { old.append(name) }
        }
        guard !old.isEmpty else { return }
        let transaction = try store.engine.begin()
        for name in old { try transaction.setValue(name, nil) }
        _ = try transaction.commit(.lazy(maxDelay: .seconds(1)))
    }

    private func isFulfilled(_ participants: [UInt8]) -> Bool {
        String(decoding: participants, as: UTF8.self).split(separator: " ").allSatisfy { text in
            guard let slot = slot(of: UUID(uuidString: String(text))), let store = self[slot]?.store else {
                return false
            }
            return store.joint.prepared == nil
        }
    }
}

extension Store {
    /// Remembers a promise that was found when the store was opened.
    func noticePromise() throws {
        let bytes = try EngineError.translated { () throws(EngineError) in
            try engine.snapshot().value(StoredValue.promise)
        }
        guard let bytes else { return }
        guard let promise = try? JSONDecoder().decode(PreparedChanges.self, from: Data(bytes)) else {
            throw HornbeamError(
                .damaged, "“\(location)” holds an unfinished save that cannot be read. Restore the store from a backup.")
        }
        joint.doubt(promise)
    }
}
