// From an executed transaction to a durable, published version.
//
// Writers take turns (first come, first served). A writer that executed its transaction queues it and lets the next
// one start; then it waits. Whoever waits and finds nobody at the log writes everything queued as one group, with
// one sync, publishes the versions in order and wakes the others. So groups form by themselves while a sync is
// under way, and a lone writer pays one write and one sync. A small transaction that is alone goes to the log before it
// is executed: CommitPipeline+Ahead.swift.
//
// Guarded by the monitor: all of `state`. What holds: versions are published in order, and only after they are
// written (and synced, if any of the group asked for it); `executed` is the newest version, `published` ≤ `executed`.

import Glibc
import HornbeamThreads
import Synchronization

final class CommitPipeline: Sendable {
    /// A transaction that was executed and waits for the log.
    struct Commit {
        let version: StoreVersion
        let payload: [UInt8]
        /// It takes away more entries than it adds.
        let frees: Bool
        let needsSync: Bool
        /// Nanoseconds within which it must be synced, if it does not need it at once.
        let syncWithin: UInt64
        let retired: [RetiredFrame]
        /// Its nodes, to be given back if it cannot be written.
        let born: [UInt32]
        let published: (@Sendable (TransactionNumber) -> Void)?
        /// The transactions that are in the version too, in their order.
        var earlier: [EndedTransaction] = []

        /// What the log gets.
        func addRecords(to records: inout [TransactionRecord]) {
            for ended in earlier { records.append(TransactionRecord(number: ended.number, payload: ended.payload, frees: frees)) }
            records.append(TransactionRecord(number: version.number, payload: payload, frees: frees))
        }

        /// Tells of the transactions, one after the other.
        func tell() {
            for ended in earlier { ended.published?(ended.number) }
            published?(version.number)
        }
    }

    struct State {
        var nextTicket = 0
        var serving = 0
        var executed: StoreVersion
        var pending: [Commit] = []
        var isFlushing = false
        var acknowledged: TransactionNumber
        var durable: TransactionNumber
        var mark: LogMark
        var failure: EngineError?
        /// Why no new transaction may begin, though running ones may end.
        var refusal: EngineError?
        /// What full disks undid.
        var undone = UndoneRounds()
        /// When the oldest write that waits for its sync must have it, in nanoseconds of the monotonic clock.
        var syncBy: UInt64?
        var jobs: [Job] = []
        var isCheckpointing = false
        /// Why no checkpoint may begin any more: the store is being closed.
        var closed: EngineError?
        var log: LogWriter?
        var statistics = PipelineStatistics()
    }

    /// Work to be done while nobody writes.
    final class Job {
        let body: () -> Void
        var isDone = false
        init(_ body: @escaping () -> Void) { self.body = body }
    }

    let monitor = Monitor()
    /// Those who wait for the checkpoint under way.
    private let checkpointWaiters = Atomic(0)
    let registry: VersionRegistry
    private let pool: FramePool
    nonisolated(unsafe) var state: State  // guarded by the monitor

    /// Told when transactions above a number are undone.
    private let undone: @Sendable (TransactionNumber) -> Void
    /// How far checkpoints are behind the commits.
    let lag: @Sendable () -> Int

    init(
        registry: VersionRegistry, pool: FramePool, first: StoreVersion, mark: LogMark, lag: @escaping @Sendable () -> Int,
        undone: @escaping @Sendable (TransactionNumber) -> Void
    ) {
        self.registry = registry
        self.pool = pool
        self.undone = undone
        self.lag = lag
        unsafe state = State(executed: first, acknowledged: first.number, durable: first.number, mark: mark)
    }

    /// The log is ready: commits may be written from now on.
    func start(_ log: LogWriter) { monitor.withLock { unsafe state.log = log } }

    /// Gives the room of log segments that wait to be used again to a full disk; false if there was none.
    func giveUpSegments() -> Bool { monitor.withLock { unsafe state.log }?.giveUpSegments() ?? false }

    /// Throws if the store's files are gone or others are in their place.
    func requireStore() throws(EngineError) { try monitor.withLock { unsafe state.log }?.requireStore() }

    // MARK: Turns

    /// Waits for the writer's turn; gives back the version to build on.
    func takeTurn() throws(EngineError) -> StoreVersion {
        try monitor.withLock { () throws(EngineError) in
            let ticket = unsafe state.nextTicket
            unsafe state.nextTicket += 1
            while unsafe state.serving != ticket { monitor.wait(.turn) }
            if let failure = unsafe state.failure ?? state.refusal {
                runJobs()
                unsafe state.serving += 1
                monitor.signalAll(.turn)
                throw failure
            }
            registry.writersAtWork.wrappingAdd(1, ordering: .relaxed)
            return unsafe state.executed
        }
    }

    /// Lets the next writer start.
    func endTurn() {
        registry.writersAtWork.wrappingSubtract(1, ordering: .relaxed)
        monitor.lock()
        runJobs()
        unsafe state.serving += 1
        monitor.signalAll(.turn)
        monitor.unlock()
    }

    /// Runs posted jobs; the caller has the turn and the lock.
    private func runJobs() {
        while unsafe !state.jobs.isEmpty {
            let job = unsafe state.jobs.removeFirst()
            monitor.unlock()
            job.body()
            monitor.lock()
            job.isDone = true
            monitor.signalAll(.progress)
        }
    }

    /// Runs a body while nobody writes; a writer that waits for the checkpoint may run it itself.
    func whileNobodyWrites(_ body: @escaping () -> Void) {
        monitor.lock()
        if unsafe state.serving == state.nextTicket {
            unsafe state.nextTicket += 1
            registry.writersAtWork.wrappingAdd(1, ordering: .relaxed)
            monitor.unlock()
            body()
            return endTurn()
        }
        let job = Job(body)
        unsafe state.jobs.append(job)
        monitor.signalAll(.progress)
        while !job.isDone { monitor.wait(.progress) }
        monitor.unlock()
    }

    // MARK: Checkpoints, one at a time

    /// Somebody waits until the checkpoint under way is done.
    var isCheckpointAwaited: Bool { checkpointWaiters.load(ordering: .relaxed) > 0 }

    /// The store is about to close: the checkpoint under way takes no rests any more.
    func hurryCheckpoint() { checkpointWaiters.wrappingAdd(1, ordering: .relaxed) }

    /// Waits until no checkpoint runs, then starts one. `hasTurn`: the caller holds the writer's turn.
    ///
    /// Throws `closed` after `endCheckpoints`.
    func beginCheckpoint(hasTurn: Bool) throws(EngineError) {
        checkpointWaiters.wrappingAdd(1, ordering: .relaxed)
        defer { checkpointWaiters.wrappingSubtract(1, ordering: .relaxed) }
        try monitor.withLock { () throws(EngineError) in
            while unsafe state.isCheckpointing {
                if hasTurn { runJobs() }
                if let closed = unsafe state.closed { throw closed }
                if unsafe state.isCheckpointing { monitor.wait(.progress) }
            }
            if let closed = unsafe state.closed { throw closed }
            unsafe state.isCheckpointing = true
        }
    }

    /// Waits until no checkpoint runs; none begins afterwards but the one that the caller writes to close the store.
    func endCheckpoints(_ error: EngineError) {
        monitor.withLock {
            while unsafe state.isCheckpointing { monitor.wait(.progress) }
            unsafe state.closed = error
            monitor.signalAll(.progress)
        }
    }

    /// Returns when no checkpoint is under way.
    func waitForCheckpoint() {
        checkpointWaiters.wrappingAdd(1, ordering: .relaxed)
        defer { checkpointWaiters.wrappingSubtract(1, ordering: .relaxed) }
        monitor.withLock { while unsafe state.isCheckpointing { monitor.wait(.progress) } }
    }

    func endCheckpoint() {
        monitor.withLock {
            unsafe state.isCheckpointing = false
            monitor.signalAll(.progress)
        }
    }

    // MARK: Committing

    /// Lets running transactions end and refuses new ones.
    func refuseWriters(_ error: EngineError) {
        monitor.withLock {
            unsafe state.refusal = error
            while unsafe state.serving != state.nextTicket { monitor.wait(.turn) }
        }
    }

    /// Throws if commits are refused, or if the version that a transaction built on was undone.
    func requireNewest(_ base: StoreVersion) throws(EngineError) {
        try monitor.withLock { () throws(EngineError) in
            if let failure = unsafe state.failure { throw failure }
            guard unsafe state.executed === base else {
                throw undoneError
            }
        }
    }

    var undoneError: EngineError {
        unsafe state.undone.last ?? EngineError(.full, "The transactions before this one could not be written.")
    }

    /// Queues an executed transaction; it is the newest version from now on. The caller still has the turn.
    /// Returns the round to wait with, once; throws if the version that it builds on was undone meanwhile.
    func enqueue(_ commit: Commit, on base: StoreVersion) throws(EngineError) -> Int {
        try monitor.withLock { () throws(EngineError) in
            if let failure = unsafe state.failure { throw failure }
            guard unsafe state.executed === base else { throw undoneError }
            unsafe state.pending.append(commit)
            unsafe state.executed = commit.version
            return unsafe state.undone.enter()
        }
    }

    /// Waits until a transaction is written (and synced, if asked); leads a group when nobody does. The round ends for the caller.
    func wait(for number: TransactionNumber, round: Int, needsSync: Bool) throws(EngineError) {
        monitor.lock()
        defer {
            unsafe state.undone.leave(round)
            monitor.unlock()
        }
        while true {
            if let error = unsafe state.undone.error(for: number, in: round) { throw error }
            if unsafe number > state.executed.number { throw undoneError }
            let reached = needsSync ? unsafe state.durable : unsafe state.acknowledged
            if reached >= number { return }
            if let failure = unsafe state.failure { throw failure }
            if unsafe state.isFlushing { monitor.wait(.progress) } else { flush(needsSync: needsSync) }
        }
    }

    /// Writes what is queued as one group. Called with the lock, which it gives up while it writes.
    private func flush(needsSync: Bool) {
        guard let log = unsafe state.log else {
            unsafe state.failure = EngineError(.closed, "The store is closed.")
            return
        }
        unsafe state.isFlushing = true
        rest(for: lag())
        let group = unsafe state.pending
        unsafe state.pending = []
        registry.writersAtWork.wrappingAdd(1, ordering: .relaxed)
        let isDue = unsafe state.syncBy.map { $0 <= MonotonicClock.nanoseconds } ?? false
        let syncs = needsSync || isDue || group.contains { $0.needsSync }
        monitor.unlock()
        var failure: EngineError?
        var mark: LogMark?
        do throws(EngineError) {
            if !group.isEmpty {
                var records: [TransactionRecord] = []
                for commit in group { commit.addRecords(to: &records) }
                mark = try log.append(records)
            }
            if syncs { _ = try log.sync() }
        } catch { failure = error }
        conclude(group, mark, synced: syncs, failure)
    }

    /// Publishes a group that is in the log, or undoes one that is not, and takes the lock again.
    func conclude(_ group: [Commit], _ mark: LogMark?, synced: Bool, _ failure: EngineError?) {
        if failure == nil {
            for commit in group { registry.publish(commit.version, retired: commit.retired) }
            for commit in group { commit.tell() }
        }
        registry.writersAtWork.wrappingSubtract(1, ordering: .relaxed)
        monitor.lock()
        unsafe state.isFlushing = false
        if let failure { fail(group, failure, logged: mark != nil) } else { acknowledge(group, mark, synced: synced) }
        monitor.signalAll(.progress)
    }

    /// Leaves the disk to a checkpoint that does not keep up, the longer the further it is behind: so a store stays within
    /// its bound, and no commit waits long. Others join the group meanwhile.
    private func rest(for lag: Int) {
        guard lag > 0 else { return }
        monitor.unlock()
        usleep(UInt32(min(lag, CommitPipeline.lagMax) * CommitPipeline.microsecondsPerLag))
        monitor.lock()
    }

    /// About a sync; five of them at most, which together with the commit itself is less than ten commits take.
    private static let microsecondsPerLag = 100
    private static let lagMax = 5

    private func acknowledge(_ group: [Commit], _ mark: LogMark?, synced: Bool) {
        if let last = group.last { unsafe state.acknowledged = last.version.number }
        if let mark { unsafe state.mark = mark }
        if synced {
            unsafe state.durable = unsafe state.acknowledged
            unsafe state.syncBy = nil
        } else {
            let due = group.map { MonotonicClock.nanoseconds &+ $0.syncWithin }
            unsafe state.syncBy = (due + (unsafe state.syncBy.map { [$0] } ?? [])).min()
        }
        unsafe state.statistics.groups += group.isEmpty ? 0 : 1
        unsafe state.statistics.syncs += synced ? 1 : 0
        for commit in group {
            unsafe state.statistics.commits += 1 + commit.earlier.count
            unsafe state.statistics.logBytes += commit.payload.count + commit.earlier.reduce(0) { $0 + $1.payload.count }
        }
    }

    /// A full disk undoes what could not be logged and goes on; any other failure poisons the store.
    func fail(_ group: [Commit], _ error: EngineError, logged: Bool) {
        guard error.code == .full, !logged else {
            unsafe state.failure =
                error.code == .durabilityLost
                ? error
                : EngineError(
                    .durabilityLost,
                    "The log could not be written, so it is unknown which of the last commits are durable; reopen the store. (\(error.message))",
                    path: error.path, errno: error.errno)
            return
        }
        let lost = group + (unsafe state.pending)
        unsafe state.pending = []
        let job = Job { [self] in
            for commit in lost.reversed() { giveBack(retired: commit.retired, born: commit.born) }
        }
        // A writer that builds on what is undone still reads these nodes; it ends its turn first.
        if unsafe state.serving == state.nextTicket { job.body() } else { unsafe state.jobs.append(job) }
        let published = registry.acquire()
        registry.release(published.number)
        unsafe state.executed = published
        self.undone(published.number)
        unsafe state.undone.endRound(above: published.number, error)
    }

    private func giveBack(retired: [RetiredFrame], born: [UInt32]) {
        pool.revive(retired)
        for frame in born { pool.discard(frame) }
    }

    /// Undoes an executed transaction that was not queued.
    func undo(retired: [RetiredFrame], born: [UInt32], above number: TransactionNumber) {
        giveBack(retired: retired, born: born)
        undone(number)
    }

    /// Writes and syncs all that was executed so far. Page files are written to next, so the store must be there.
    func drain() throws(EngineError) {
        try requireStore()
        let (number, round) = monitor.withLock { unsafe (state.executed.number, state.undone.enter()) }
        try wait(for: number, round: round, needsSync: true)
    }

    /// Waits until all that the version builds on is durable: a conflict with it may be told then.
    func waitUntilDurable(_ number: TransactionNumber) throws(EngineError) {
        let round = monitor.withLock { unsafe state.undone.enter() }
        try wait(for: number, round: round, needsSync: true)
    }

    /// Syncs what was acknowledged without a sync and is due.
    func syncIfDue() throws(EngineError) {
        let isDue = monitor.withLock { unsafe state.syncBy.map { $0 <= MonotonicClock.nanoseconds } ?? false }
        if isDue { try syncIfNeeded() }
    }

    /// Syncs what was acknowledged without a sync, if there is any.
    func syncIfNeeded() throws(EngineError) {
        let waiting: (number: TransactionNumber, round: Int)? = monitor.withLock {
            unsafe state.acknowledged > state.durable ? (state.acknowledged, state.undone.enter()) : nil
        }
        if let waiting { try wait(for: waiting.number, round: waiting.round, needsSync: true) }
    }

    /// The newest version, held for the caller, and the place in the log after it, both durable (R8: a checkpoint
    /// never runs ahead of the log).
    func durablePoint() throws(EngineError) -> (version: StoreVersion, mark: LogMark) {
        while true {
            monitor.lock()
            while unsafe state.isFlushing { monitor.wait(.progress) }
            if unsafe state.durable == state.acknowledged {
                defer { monitor.unlock() }
                return unsafe (registry.acquire(), state.mark)
            }
            monitor.unlock()
            try syncIfNeeded()
        }
    }

    // MARK: The end

    /// Refuses all further commits.
    func close(_ error: EngineError) {
        monitor.withLock {
            if unsafe state.failure == nil { unsafe state.failure = error }
            unsafe state.log = nil
            monitor.signalAll(.progress)
            monitor.signalAll(.turn)
        }
    }

    /// The newest transaction that was executed, written or not.
    var executed: TransactionNumber { monitor.withLock { unsafe state.executed.number } }
    var failure: EngineError? { monitor.withLock { unsafe state.failure } }
    var statistics: PipelineStatistics { monitor.withLock { unsafe state.statistics } }
    /// The rounds that are remembered for those who still wait.
    var undoneCount: Int { monitor.withLock { unsafe state.undone.count } }

    /// Replay made a version that is in the log already.
    func adopt(_ version: StoreVersion, retired: [RetiredFrame]) {
        registry.publish(version, retired: retired)
        monitor.withLock {
            unsafe state.executed = version
            unsafe state.acknowledged = version.number
            unsafe state.durable = version.number
        }
    }

    /// The place in the log from which the next checkpoint's replay starts.
    func setMark(_ mark: LogMark) { monitor.withLock { unsafe state.mark = mark } }
}

/// What the pipeline did since the store was opened.
struct PipelineStatistics: Sendable {
    var commits = 0
    var groups = 0
    var syncs = 0
    var logBytes = 0
}
