internal import Foundation
internal import HornbeamThreads

/// The threads that background contexts run on.
///
/// Reading and saving block, so this work stays off Swift's cooperative pool. Threads are made when
/// there is work and none is idle, up to `limit`, and are kept. The queue is first in, first out.
/// Waiting for another context takes no further thread: whoever waits runs its work itself
/// (`ContextExecutor.runAndWait`). Executors have threads apart from those of `performBackgroundTask`, so that
/// any number of tasks may wait for a context whose own work is still to run.
final class WorkerThreads: Sendable {
    /// For `performBackgroundTask`. Enough that many contexts can wait for the disk together, which is what
    /// lets commits share a sync.
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

    /// Runs the work on one of the threads, some time later.
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
