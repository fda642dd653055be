internal import Foundation
internal import HornbeamThreads

/// The threads of background contexts.
///
/// Reads and saves block a thread, so they do not run on Swift's cooperative pool. `enqueue` starts a thread when
/// no thread is idle, up to `limit`; threads never end. The queue is first in, first out.
/// A thread that waits for another context needs no second thread, because it runs the queued work itself
/// (`ContextExecutor.runAndWait`). Executors and `performBackgroundTask` use separate threads. Otherwise, tasks that wait for a
/// context could occupy all threads, and that context's own work could not start.
final class WorkerThreads: Sendable {
    /// For `performBackgroundTask`. The limit is high, so that many contexts can commit at the same time and share
    /// a sync.
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
