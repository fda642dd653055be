internal import Foundation
internal import HornbeamThreads
internal import HornbeamEngine
internal import HornbeamModel
internal import Synchronization

/// Where a store stands in saves over several stores; see `JointSave`.
///
/// While a joint save is under way nobody else may write, or what was promised could not be kept.
final class JointState: Sendable {
    enum Phase {
        /// Anybody may write.
        case free
        /// A joint save of this process is under way: others wait.
        case held
        /// What was prepared is not decided as far as this store can see, or could not be carried out: nobody may write.
        case inDoubt(PreparedChanges)
    }

    /// A decision that all participants have carried out, each in a transaction that may not be on the disk yet.
    struct Finished {
        let decision: UUID
        var participants: [(store: Store, transaction: UInt64)] = []

        /// True once no crash can make a participant ask for the decision; waits for the disk.
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
    /// False while the phase is `free`, so that ordinary saves look at no lock.
    private let isBusy = Atomic(false)

    /// Waits until the store is free, and holds it.
    func hold(for location: Store.Location) throws {
        try waitUntilFree(location) { state in state.phase = .held }
        isBusy.store(true, ordering: .sequentiallyConsistent)
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

    /// True when an ordinary transaction that has begun may go on.
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
        // Each that wakes wakes the next.
        state.signal()
        if case .some(let changes?) = doubt { throw changes.doubt(location) }
    }

    // MARK: Decisions of this store

    func finish(_ decision: Finished) { state.withLock { $0.finished.append(decision) } }

    /// The names of the decisions that this process made or carried out, which are removed by later ones.
    var recentDecisions: Set<String> { state.withLock { Set($0.finished.map { StoredValue.decision($0.decision) }) } }

    func takeFinished() -> [Finished] {
        state.withLock { state in
            defer { state.finished = [] }
            return state.finished
        }
    }
}

extension Store {
    /// Begins a transaction once no joint save stands in the way.
    func beginTransaction() throws -> WriteTransaction {
        while true {
            if !joint.isFree { try joint.waitUntilFree(location) }
            let transaction = try EngineError.translated { () throws(EngineError) in try engine.begin() }
            if joint.isFree { return transaction }
            transaction.abort()
        }
    }
}
