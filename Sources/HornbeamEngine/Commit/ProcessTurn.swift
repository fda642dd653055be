// The writer's turn of a process among the processes that write one store. `WriterTurn` orders the transactions of one process; this turn
// orders the processes.
//
// A process keeps the turn while no other process asks for it, so the transactions of a process that is alone only count themselves. When
// another process asks, new transactions wait, the running ones end, and the process hands the turn over. Then it queues behind the other
// process. With background threads, one thread waits for requests and takes the turn; the threads of transactions wait with a time limit.
// Without them (simulations), the thread of a transaction takes the turn and hands it over after its transaction.
//
// Invariants:
// - Transactions and upkeep are counted as users of the turn. It is handed over only without users.
// - A caller of `hold` is a user until it calls `release`. It may start transactions, so users enter although the turn is requested.
// - Each thread that waited when the turn was granted uses it before it is handed over. So every change of the holder makes progress.
// - With a thread, a process that writes without a pause keeps a requested turn until `turnEnd`: a change of the holder costs as much as some
//   saves. A process that makes a pause hands over earlier.
// - `takeOver` and `handOver` run with the turn and without users.
// - `end` waits for the users except the holds of its own thread: a store can be closed while its caller holds the turn.

import Glibc
import HornbeamThreads

/// The turn of a shared store in this process.
final class ProcessTurn: Sendable {
    enum Phase: Sendable {
        /// Another process may have the turn.
        case away
        /// A thread waits for the operating system to grant the turn.
        case waiting
        /// A thread has the turn and reads the commits of other processes.
        case taking
        case held
        case leaving
    }

    struct State {
        var phase = Phase.away
        /// The number of transactions and upkeep tasks that need the turn.
        var users = 0
        /// The number of threads that wait until the process has the turn.
        var waiters = 0
        /// The number of threads that have begun to wait.
        var arrivals: UInt64 = 0
        /// The number of the last of them when the process got the turn.
        var lastGranted: UInt64 = 0
        /// The number of threads that waited when the process got the turn and have not used it yet. They use it before it is handed over.
        var granted = 0
        /// True if another process waits for the turn.
        var isRequested = false
        /// The threads of the calls of `hold` without a call of `release`.
        var holders: [pthread_t] = []
        /// The time until which users enter although the turn is requested.
        var turnEnd: UInt64 = 0
        /// The time at which the last user left. Set only while the turn is requested.
        var lastExit: UInt64 = 0
        /// True if the thread reads the commits of other processes while it waits.
        var isFollowing = false
        /// True while the thread reads commits of other processes or waits for one.
        var isListening = false
        /// The pause after the next commits of other processes, in milliseconds. It doubles while there are commits after each pause.
        var pauseAfterCommits: Int32 = 1
        /// True if any user may enter.
        var isOpen: Bool { phase == .held && (!isRequested || !holders.isEmpty || MonotonicClock.nanoseconds < turnEnd) }
        /// True if the thread that waits with a number waited when the turn was granted.
        func isGranted(_ arrival: UInt64) -> Bool { phase == .held && arrival <= lastGranted }
        /// True if no thread in this process needs the turn.
        var isUnused: Bool { users == 0 && granted == 0 }
        /// The number of failed attempts to take the turn, and the last error.
        var failures = 0
        var failure: EngineError?
        var isEnding = false
        /// True if the thread runs. Without it no thread would see the requests of other processes, so the process keeps no turn.
        var hasThread = false
    }

    /// The work of the engine at a change of the holder.
    struct Work: Sendable {
        /// Reads the commits of other processes and continues the log.
        let takeOver: @Sendable () throws(EngineError) -> Void
        /// Makes all commits durable and ends writing.
        let handOver: @Sendable () -> Void
        /// Reads the commits of other processes while one of them has the turn. Returns whether there were any.
        let catchUp: @Sendable () -> Bool
    }

    let lock: any SharedFileLock
    let monitor = Monitor()
    nonisolated(unsafe) var state = State()  // guarded by the monitor
    nonisolated(unsafe) var work: Work?  // set once, before the first use
    /// False in simulations.
    private let usesThread: Bool
    private let limit: UInt64
    /// The shortest limit: the thread needs some time to take a turn that no process has.
    private static let limitMin: UInt64 = 20_000_000
    /// The time for which a process keeps a turn that another one asks for, in nanoseconds. It limits how long the others wait.
    private let turnLength: UInt64
    /// The longest time without users in this time, in nanoseconds.
    let pauseMax: Int
    private let path: String
    /// False in tests that simulate a system without free threads.
    let mayStartThread: @Sendable () -> Bool

    /// `limit`: the nanoseconds for which a thread waits for other processes, if `usesThread`.
    init(
        _ lock: any SharedFileLock, path: String, usesThread: Bool, limit: UInt64, turnLength: UInt64 = 1_000_000, pauseMax: Int = 100_000,
        mayStartThread: @escaping @Sendable () -> Bool = { true }
    ) {
        self.lock = lock
        self.mayStartThread = mayStartThread
        self.path = path
        self.usesThread = usesThread
        self.limit = max(limit, Self.limitMin)
        self.turnLength = turnLength
        self.pauseMax = pauseMax
    }

    /// Sets the work of the engine. `isHeld`: the process has the turn already. `startsThread`: false if the caller runs `serve` on a thread.
    func start(_ work: Work, isHeld: Bool, startsThread: Bool = true) {
        unsafe self.work = work
        monitor.withLock {
            if isHeld { unsafe state.phase = .held }
            if usesThread { unsafe state.hasThread = !startsThread || startThread() }
            if unsafe isHeld && state.users == 0 && !state.hasThread { leave() }
        }
    }

    /// Starts the thread if the system refused it before. The caller holds the monitor's lock.
    private func requireThread() throws(EngineError) {
        if unsafe !state.hasThread { unsafe state.hasThread = startThread() }
        guard unsafe !state.hasThread else { return }
        throw EngineError(
            .inputOutput, "The operating system refused the thread with which this process takes turns with others. Nothing was written. Try again.",
            path: path)
    }

    /// True if another process waits for the turn of this one.
    var isRequested: Bool { monitor.withLock { unsafe state.isRequested } }
    var isHeld: Bool { monitor.withLock { unsafe state.phase == .held } }

    // MARK: Users

    /// Waits until this process has the turn, and counts a user. Throws `busy` after the time limit, `closed`, and the errors of reading the
    /// commits of other processes.
    func enter() throws(EngineError) {
        try monitor.withLock { () throws(EngineError) in
            if unsafe usesThread && state.isOpen && !state.isEnding {
                unsafe state.users += 1
                return
            }
            try waitForTurn()
            unsafe state.users += 1
        }
    }

    private func waitForTurn() throws(EngineError) {
        let end = MonotonicClock.nanoseconds &+ limit
        let failures = unsafe state.failures
        unsafe state.waiters += 1
        unsafe state.arrivals += 1
        let arrival = unsafe state.arrivals
        defer { unsafe state.waiters -= 1 }
        while true {
            if unsafe state.isEnding { throw EngineError(.closed, "The store is closed.", path: path) }
            if !usesThread { readRequest() }
            if unsafe state.isGranted(arrival) {
                unsafe state.granted -= 1
                return
            }
            if unsafe state.isOpen { return }
            if let failure = unsafe state.failure, unsafe state.failures > failures { throw failure }
            if usesThread {
                try requireThread()
                monitor.signalAll(.progress)
                if unsafe state.isListening { lock.wake() }
                let now = MonotonicClock.nanoseconds
                if now < end {
                    monitor.wait(.turn, milliseconds: Int((end - now) / 1_000_000) + 1)
                } else {
                    // In `taking`, this process has the turn and reads the commits of others. It no longer waits for another process.
                    guard unsafe state.phase == .taking else { throw busy }
                    monitor.wait(.turn)
                }
            } else if unsafe state.phase == .away {
                take()
            } else {
                monitor.wait(.turn)
            }
        }
    }

    /// Counts a user if this process has the turn and keeps it: no other process asks for it, or there are users, which may be long transactions.
    func enterIfHeld() -> Bool {
        monitor.withLock {
            guard unsafe state.phase == .held, unsafe !state.isRequested || state.users > 0, unsafe !state.isEnding else { return false }
            unsafe state.users += 1
            return true
        }
    }

    /// Removes a user.
    func exit() {
        monitor.withLock {
            assert(unsafe state.users > 0, "A user of the turn leaves once.")
            unsafe state.users -= 1
            guard unsafe state.isUnused || state.isEnding else { return }
            if unsafe (!usesThread || state.isRequested) && state.phase == .held && !state.isEnding {
                let now = MonotonicClock.nanoseconds
                unsafe state.lastExit = now
                // Before the end of the turn, the thread waits for the next user.
                if unsafe usesThread && now < state.turnEnd { return }
                // The last user hands over without waking the thread first.
                leave()
            }
            monitor.signalAll(.progress)
        }
    }

    // MARK: Several transactions

    /// Like `enter`. Until `release`, which the same thread calls, this process keeps the turn, and further users enter although another process asks
    /// for it.
    func hold() throws(EngineError) {
        try enter()
        monitor.withLock { unsafe state.holders.append(pthread_self()) }
    }

    func release() {
        monitor.withLock {
            guard let hold = unsafe state.holders.lastIndex(of: pthread_self()) else { preconditionFailure("A hold is released once, by its thread.") }
            unsafe state.holders.remove(at: hold)
        }
        exit()
    }

    /// Begins to read the commits of other processes when they are made. Only with a thread.
    func follow() {
        monitor.withLock {
            unsafe state.isFollowing = true
            if unsafe !state.hasThread { unsafe state.hasThread = startThread() }
            monitor.signalAll(.progress)
        }
    }

    private func readRequest() {
        guard unsafe state.phase == .held else { return }
        unsafe state.isRequested = (try? lock.isTurnRequested()) ?? false
    }

    private var busy: EngineError {
        EngineError(
            .busy, "\(lock.holderName) writes the store and did not hand over the turn in time. Try again, or raise the time limit.", path: path)
    }

    // MARK: Changing the holder

    /// Takes the turn and reads the commits of other processes. The caller has the monitor, which is released meanwhile.
    func take() {
        assert(unsafe state.phase == .away, "One thread takes the turn.")
        unsafe state.phase = .waiting
        var failure: EngineError?
        monitor.unlock()
        do throws(EngineError) { try lock.takeTurn() } catch { failure = error }
        monitor.lock()
        if failure == nil, unsafe state.isEnding {
            lock.releaseTurn()
            unsafe state.phase = .away
            return monitor.signalAll(.turn)
        }
        if failure == nil, let work = unsafe work {
            unsafe state.phase = .taking
            monitor.unlock()
            do throws(EngineError) { try work.takeOver() } catch { failure = error }
            if failure != nil { lock.releaseTurn() }
            monitor.lock()
        }
        unsafe state.phase = failure == nil ? .held : .away
        unsafe state.granted = unsafe failure == nil ? state.waiters : 0
        if failure == nil { unsafe state.lastGranted = unsafe state.arrivals }
        unsafe state.turnEnd = usesThread ? MonotonicClock.nanoseconds + turnLength : 0
        unsafe state.isRequested = false
        unsafe state.failure = failure
        if failure != nil { unsafe state.failures += 1 }
        monitor.signalAll(.turn)
    }

    /// Hands the turn over. The caller has the monitor, which is released meanwhile, and there are no users.
    func leave() {
        assert(unsafe state.phase == .held && state.isUnused, "The turn is handed over without users.")
        unsafe state.phase = .leaving
        monitor.unlock()
        if let work = unsafe work { work.handOver() }
        lock.releaseTurn()
        monitor.lock()
        unsafe state.phase = .away
        unsafe state.isRequested = false
        monitor.signalAll(.turn)
    }

    /// Refuses new users and waits for the present ones, except the holds of this thread. Returns whether the process has the turn then; nil if it was
    /// called before.
    func end() -> Bool? {
        monitor.lock()
        guard unsafe !state.isEnding else {
            monitor.unlock()
            return nil
        }
        unsafe state.isEnding = true
        unsafe state.granted = 0
        monitor.signalAll(.turn)
        monitor.signalAll(.progress)
        monitor.unlock()
        lock.endWait()
        monitor.lock()
        defer { monitor.unlock() }
        let own = unsafe state.holders.count { $0 == pthread_self() }
        while unsafe state.users > own || state.phase == .taking || state.phase == .leaving {
            // Users signal the progress, a change of the holder the turn.
            monitor.wait(unsafe state.users > own ? .progress : .turn)
        }
        return unsafe state.phase == .held
    }

    /// Ends the thread without a hand-over: the engine was released without `close`.
    func abandon() {
        monitor.withLock {
            unsafe state.isEnding = true
            monitor.signalAll(.turn)
            monitor.signalAll(.progress)
        }
        lock.endWait()
    }
}

/// A user of a process's turn.
struct TurnUser {
    private let turn: ProcessTurn
    init(_ turn: ProcessTurn) { self.turn = turn }
    /// Called once.
    func exit() { turn.exit() }
}

/// The parts of a shared store that outlive the change to a newer checkpoint.
struct StoreSharing: Sendable {
    let turn: ProcessTurn
    let lifecycle: Lifecycle
}
