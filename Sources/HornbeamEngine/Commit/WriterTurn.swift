// The writer's turn: one transaction writes at a time. Turns are granted first come, first served.
//
// The interface is small, so that a lock shared by processes can take its place: take with a time limit, release between two transactions, and
// work that runs between two transactions. The thread that takes the turn builds on the newest executed version, maybe one of another holder. The
// pipeline reads that version after the turn is taken, and a lock shared by processes would read the other process's commits there.
//
// The monitor of the pipeline guards the state. Methods are called with it, and release it while they wait or run work.

import HornbeamThreads

/// The right to write, which one thread has at a time.
final class WriterTurn: Sendable {
    private struct State {
        var nextTicket = 0
        var serving = 0
        /// The tickets of threads that waited too long.
        var abandoned: Set<Int> = []
        var jobs: [Job] = []
    }

    /// Work to be done while no transaction runs.
    private final class Job {
        let body: () -> Void
        var isDone = false
        init(_ body: @escaping () -> Void) { self.body = body }
    }

    private let monitor: Monitor
    nonisolated(unsafe) private var state = State()  // guarded by the monitor

    init(_ monitor: Monitor) { self.monitor = monitor }

    /// True if no thread has the turn or waits for it.
    var isFree: Bool { unsafe state.serving == state.nextTicket }

    /// True if a thread waits for the turn that another has.
    var isAwaited: Bool { unsafe state.serving + state.abandoned.count + 1 < state.nextTicket }

    /// Waits for the turn. Returns false, and does not have it, after `limit` milliseconds; nil is no limit.
    func take(within limit: Int? = nil) -> Bool {
        let ticket = unsafe state.nextTicket
        unsafe state.nextTicket += 1
        let end = limit.map { MonotonicClock.nanoseconds + UInt64($0) * 1_000_000 }
        while unsafe state.serving != ticket {
            guard let end else {
                monitor.wait(.turn)
                continue
            }
            let now = MonotonicClock.nanoseconds
            if now >= end {
                unsafe state.abandoned.insert(ticket)
                return false
            }
            monitor.wait(.turn, milliseconds: Int((end - now) / 1_000_000) + 1)
        }
        Interleaving.beginExclusiveWork("the writer's turn")
        return true
    }

    /// Runs queued work and grants the turn to the next thread.
    func release() {
        assert(!isFree, "A turn ends after it was granted.")
        Interleaving.endExclusiveWork("the writer's turn")
        runQueuedWork()
        unsafe state.serving += 1
        while unsafe state.abandoned.remove(state.serving) != nil { unsafe state.serving += 1 }
        assert(unsafe state.serving <= state.nextTicket, "Only granted turns are released.")
        monitor.signalAll(.turn)
    }

    /// Waits until no thread has the turn.
    func waitUntilFree() { while !isFree { monitor.wait(.turn) } }

    /// Runs work while no transaction runs, and returns after it. The holder of the turn may run it.
    func runBetweenTransactions(_ body: @escaping () -> Void) {
        if isFree {
            let isTaken = take()
            assert(isTaken, "A free turn is granted at once.")
            monitor.unlock()
            body()
            monitor.lock()
            return release()
        }
        let job = Job(body)
        unsafe state.jobs.append(job)
        monitor.signalAll(.progress)
        while !job.isDone { monitor.wait(.progress) }
    }

    /// Runs work at once if the turn is free, otherwise before it is released.
    func runBeforeNext(_ body: @escaping () -> Void) {
        if isFree { body() } else { unsafe state.jobs.append(Job(body)) }
    }

    /// Runs queued work. The caller has the turn and changes nothing meanwhile.
    func runQueuedWork() {
        assert(!isFree, "The holder of the turn runs the queued work.")
        while unsafe !state.jobs.isEmpty {
            let job = unsafe state.jobs.removeFirst()
            monitor.unlock()
            job.body()
            monitor.lock()
            job.isDone = true
            monitor.signalAll(.progress)
        }
    }
}
