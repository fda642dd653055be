internal import Foundation
internal import HornbeamThreads
internal import HornbeamEngine
internal import HornbeamModel
internal import Synchronization

/// The state of a store in two-phase commits; see `TwoPhaseCommit`.
///
/// During a two-phase commit other saves must wait, because they could make the prepared part inapplicable.
final class TwoPhaseState: Sendable {
    enum Phase {
        /// All saves may write.
        case free
        /// A two-phase commit of this process is running. Other saves wait.
        case held
        /// The store has a prepared part without a known commit record, or a part that could not be applied. No save may write.
        case inDoubt(PreparedChanges)
    }

    /// A commit record that all participants have applied. Their transactions may not be durable yet.
    struct Finished {
        let decision: UUID
        var participants: [(store: Store, transaction: UInt64)] = []

        /// Waits for the participants' syncs. Returns true if all parts are durable, so that the commit record is no longer needed.
        var isDurable: Bool {
            participants.allSatisfy { store, transaction in
                (try? store.engine.waitUntilDurable(TransactionNumber(transaction))) != nil
            }
        }
    }

    private struct State {
        var phase = Phase.free
        var finished: [Finished] = []
    }

    private let state = Guarded(State())
    /// False while the phase is `free`, so that ordinary saves take no lock.
    private let isBusy = Atomic(false)

    /// Waits until the store is free, and reserves it.
    func hold(for location: Store.Location) throws {
        try waitUntilFree(location) { state in state.phase = .held }
        isBusy.store(true, ordering: .sequentiallyConsistent)
    }

    /// Reserves the store if it is free. Returns whether it is reserved.
    func holdIfFree() -> Bool {
        let isHeld = state.withLock { state in
            guard case .free = state.phase else { return false }
            state.phase = .held
            return true
        }
        if isHeld { isBusy.store(true, ordering: .sequentiallyConsistent) }
        return isHeld
    }

    func release() {
        isBusy.store(false, ordering: .sequentiallyConsistent)
        state.withLock { $0.phase = .free }
        state.signal()
    }

    func doubt(_ changes: PreparedChanges) {
        isBusy.store(true, ordering: .sequentiallyConsistent)
        state.withLock { $0.phase = .inDoubt(changes) }
        state.signal()
    }

    var prepared: PreparedChanges? {
        state.withLock { if case .inDoubt(let changes) = $0.phase { changes } else { nil } }
    }

    /// True when an ordinary transaction that has begun may continue.
    var isFree: Bool { !isBusy.load(ordering: .sequentiallyConsistent) }

    func waitUntilFree(_ location: Store.Location) throws { try waitUntilFree(location) { _ in } }

    private func waitUntilFree(_ location: Store.Location, _ body: (inout State) -> Void) throws {
        let doubt: PreparedChanges?? = state.wait { state -> PreparedChanges?? in
            switch state.phase {
            case .free:
                body(&state)
                return .some(nil)
            case .held: return nil
            case .inDoubt(let changes): return .some(changes)
            }
        }
        // Each woken thread wakes the next.
        state.signal()
        if case .some(let changes?) = doubt { throw changes.doubt(location) }
    }

    // MARK: Commit records of this store

    func finish(_ decision: Finished) { state.withLock { $0.finished.append(decision) } }

    /// The names of the commit records that this process wrote or applied; later saves remove them.
    var recentCommitRecords: Set<String> { state.withLock { Set($0.finished.map { StoredValue.decision($0.decision) }) } }

    func takeFinished() -> [Finished] {
        state.withLock { state in
            defer { state.finished = [] }
            return state.finished
        }
    }
}

extension Store {
    /// The prepared part in a version.
    func preparedPart(in snapshot: Snapshot) throws -> PreparedChanges? {
        let bytes = try EngineError.translated { () throws(EngineError) in try snapshot.value(StoredValue.preparedPart) }
        guard let bytes else { return nil }
        guard let prepared = try? JSONDecoder().decode(PreparedChanges.self, from: Data(bytes)) else {
            throw HornbeamError(
                .damaged, "“\(location)” contains an unfinished save that cannot be read. Restore the store from a backup.")
        }
        return prepared
    }

    /// Begins a transaction when no two-phase commit is running.
    func beginTransaction() throws -> WriteTransaction {
        while true {
            if !joint.isFree {
                // Another process may have completed the two-phase commit. This process reads that when it takes the turn.
                if isShared, joint.prepared != nil { try withTurn {} }
                try joint.waitUntilFree(location)
            }
            let transaction = try EngineError.translated { () throws(EngineError) in try engine.begin() }
            if joint.isFree { return transaction }
            transaction.abort()
        }
    }
}
