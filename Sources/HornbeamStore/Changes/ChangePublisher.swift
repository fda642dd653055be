internal import HornbeamThreads

/// Publishes commits to subscribers. The engine calls it for each published commit, in commit order.
final class ChangePublisher: Sendable {
    typealias Observer = @Sendable (StoreChange) -> Void

    private struct State {
        var observers: [(id: UInt64, body: Observer)] = []
        var nextObserver: UInt64 = 1
    }

    private let state = Guarded(State())

    func publish(_ change: StoreChange) {
        for observer in state.withLock({ $0.observers }) { observer.body(change) }
    }

    /// True when there are no subscribers. Changes then need not be collected.
    var isIdle: Bool { state.withLock { $0.observers.isEmpty } }

    func add(_ body: @escaping Observer) -> UInt64 {
        state.withLock { state in
            assert(state.observers.last.map { $0.id < state.nextObserver } ?? true, "Observers are called in the order of their numbers.")
            state.observers.append((state.nextObserver, body))
            defer { state.nextObserver += 1 }
            return state.nextObserver
        }
    }

    func remove(_ id: UInt64) {
        state.withLock { state in state.observers.removeAll { $0.id == id } }
    }
}

/// A subscription. It ends when it is cancelled or released.
package final class StoreObservation: Sendable {
    private let publisher: ChangePublisher
    private let id: UInt64

    init(_ publisher: ChangePublisher, _ body: @escaping ChangePublisher.Observer) {
        self.publisher = publisher
        id = publisher.add(body)
    }

    package func cancel() { publisher.remove(id) }

    deinit { cancel() }
}
