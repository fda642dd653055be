internal import Foundation
internal import HornbeamThreads

/// The threads of background contexts.
///
/// Reading and saving block, so this work does not use Swift's cooperative pool. A thread is created when
/// there is work and none is idle, up to `limit`, and is kept. The queue is first in, first out.
/// Waiting for another context needs no further thread, because the waiting thread runs its work itself
/// (`ContextExecutor.runAndWait`). Executors and `performBackgroundTask` have separate threads, so that
/// any number of tasks can wait for a context whose own work is still queued.
final class WorkerThreads: Sendable {
    /// For `performBackgroundTask`. Large enough that many contexts can wait for the disk together, so that their
    /// commits share a sync.
    static let tasks = WorkerThreads(limit: 32)
    /// For background contexts and actors on a `ContextExecutor`.
    static let executors = WorkerThreads(limit: 32)

    private let limit: Int
    private let state: Guarded<State>

    private struct State {
        var queue: [@Sendable () -> Void] = []
        var head = 0
        var idle = 0
        var started = 0
    }

    init(limit: Int) {
        self.limit = limit
        state = Guarded(State())
    }

    /// Queues the work for one of the threads.
    func enqueue(_ work: @escaping @Sendable () -> Void) {
        let startsThread = state.withLock { state in
            state.queue.append(work)
            let waiting = state.queue.count - state.head
            guard waiting > state.idle, state.started < limit else { return false }
            state.started += 1
            return true
        }
        if startsThread { startThread() } else { state.signal() }
    }

    private func startThread() {
        let thread = Thread { [self] in
            while true { next()() }
        }
        thread.name = "hornbeam"
        thread.stackSize = 4 << 20
        thread.start()
    }

    private func next() -> @Sendable () -> Void {
        state.wait { state in
            guard state.head < state.queue.count else { return nil }
            let work = state.queue[state.head]
            state.queue[state.head] = {}
            state.head += 1
            if state.head > 64, state.head * 2 > state.queue.count {
                state.queue.removeFirst(state.head)
                state.head = 0
            }
            return work
        } idle: { state, change in
            state.idle += change
        }
    }
}
