// The queue from an executed transaction to a durable, published version: group commit.
//
// A writer that has executed its transaction queues it, ends its turn (WriterTurn) and waits. A waiting
// writer becomes the leader if there is none. The leader writes all queued transactions as one batch with one sync, publishes the versions in
// order and wakes the followers. So batches form while a sync is in progress, and a lone writer pays one write and one sync. A small
// transaction without concurrent writers takes the log-first fast path: CommitPipeline+LogFirst.swift.
//
// The monitor guards all of `state`. Invariants:
// - Versions are published in order, and only after they are written (and synced, if a transaction of the batch needs it).
// - `executed` is the newest version, and `published` ≤ `executed`.

import Glibc
import HornbeamThreads
import Synchronization

final class CommitPipeline: Sendable {
    /// An executed transaction that waits for the log. A class, because the loops over a batch would copy the fields of a structure.
    final class Commit: Sendable {
        let version: StoreVersion
        let payload: [UInt8]
        /// True if the transaction removes more entries than it adds.
        let frees: Bool
        let needsSync: Bool
        /// The time, in nanoseconds, within which a lazy commit must be synced.
        let syncWithin: UInt64
        let retired: [RetiredFrame]
        /// The nodes that the transaction made. They are freed if it cannot be logged.
        let born: [UInt32]
        let published: (@Sendable (TransactionNumber) -> Void)?
        /// Earlier transactions of the same version, in order.
        let earlier: [EndedTransaction]

        init(
            version: StoreVersion, payload: [UInt8], frees: Bool, needsSync: Bool, syncWithin: UInt64, retired: [RetiredFrame], born: [UInt32],
            published: (@Sendable (TransactionNumber) -> Void)?, earlier: [EndedTransaction] = []
        ) {
            self.version = version
            self.payload = payload
            self.frees = frees
            self.needsSync = needsSync
            self.syncWithin = syncWithin
            self.retired = retired
            self.born = born
            self.published = published
            self.earlier = earlier
        }

        /// Appends the log records of the transaction and of the earlier ones.
        func addRecords(to records: inout [TransactionRecord]) {
            for ended in earlier { records.append(TransactionRecord(number: ended.number, payload: ended.payload, frees: frees)) }
            records.append(TransactionRecord(number: version.number, payload: payload, frees: frees))
        }

        /// Calls the `published` callbacks of the transactions in order.
        func callPublished() {
            for ended in earlier { ended.published?(ended.number) }
            published?(version.number)
        }
    }

    struct State {
        var executed: StoreVersion
        var pending: [Commit] = []
        var isFlushing = false
        var acknowledged: TransactionNumber
        var durable: TransactionNumber
        var mark: LogMark
        /// The transactions that full disks undid.
        var undone = UndoneRounds()
        /// The deadline for the sync of the oldest lazy commit, in nanoseconds of the monotonic clock; nil if no sync is pending.
        var syncBy: UInt64?
        var isCheckpointing = false
        var log: LogWriter?
        var statistics = PipelineStatistics()
    }

    let monitor: Monitor
    let turn: WriterTurn
    /// The threads that wait for the checkpoint in progress.
    private let checkpointWaiters = Atomic(0)
    let registry: VersionRegistry
    private let pool: FramePool
    /// Changed under the monitor, so that waiting threads are woken.
    let lifecycle: Lifecycle
    nonisolated(unsafe) var state: State  // guarded by the monitor

    /// Called when transactions above a number are undone.
    private let undone: @Sendable (TransactionNumber) -> Void
    /// The lag of checkpoints behind commits.
    let lag: @Sendable () -> Int

    init(
        registry: VersionRegistry, pool: FramePool, lifecycle: Lifecycle, first: StoreVersion, mark: LogMark, lag: @escaping @Sendable () -> Int,
        undone: @escaping @Sendable (TransactionNumber) -> Void
    ) {
        monitor = Monitor()
        turn = WriterTurn(monitor)
        self.registry = registry
        self.pool = pool
        self.lifecycle = lifecycle
        self.undone = undone
        self.lag = lag
        unsafe state = State(executed: first, acknowledged: first.number, durable: first.number, mark: mark)
    }

    /// Sets the log. Commits are possible from now on.
    func start(_ log: LogWriter) { monitor.withLock { unsafe state.log = log } }

    /// Unlinks recycled log segments to free space on a full disk; false if there was none.
    func releaseRecycledSegments() -> Bool { monitor.withLock { unsafe state.log }?.releaseRecycledSegments() ?? false }

    /// Throws if the store's files were removed or replaced.
    func requireStore() throws(EngineError) { try monitor.withLock { unsafe state.log }?.requireStore() }

    // MARK: Turns

    /// Waits for the writer's turn. Returns the version on which the transaction is based.
    func takeTurn() throws(EngineError) -> StoreVersion {
        try monitor.withLock { () throws(EngineError) in
            let isTaken = turn.take()
            assert(isTaken, "Without a limit a thread waits until it has the turn.")
            if let refusal = lifecycle.refusal(of: .begin) {
                turn.release()
                throw refusal
            }
            registry.pool.files.writersAtWork.wrappingAdd(1, ordering: .relaxed)
            assert(unsafe state.acknowledged <= state.executed.number, "A transaction builds on the newest version.")
            return unsafe state.executed
        }
    }

    /// Grants the turn to the next writer.
    func endTurn() {
        registry.pool.files.writersAtWork.wrappingSubtract(1, ordering: .relaxed)
        monitor.withLock { turn.release() }
    }

    /// Runs a body while no transaction runs. A writer that waits for the checkpoint may run it.
    func withoutWriters(_ body: @escaping () -> Void) { monitor.withLock { turn.runBetweenTransactions(body) } }

    // MARK: Checkpoints, one at a time

    /// True if a thread waits for the checkpoint in progress.
    var isCheckpointAwaited: Bool { checkpointWaiters.load(ordering: .relaxed) > 0 }

    /// Ends the throttling of the checkpoint in progress. Called before the store is closed.
    func endThrottling() { checkpointWaiters.wrappingAdd(1, ordering: .relaxed) }

    /// Waits until no checkpoint runs, then starts one. `hasTurn`: the caller has the writer's turn.
    ///
    /// Throws the failure of a store that has failed, and `closed` after `endCheckpoints`.
    func beginCheckpoint(hasTurn: Bool) throws(EngineError) {
        checkpointWaiters.wrappingAdd(1, ordering: .relaxed)
        defer { checkpointWaiters.wrappingSubtract(1, ordering: .relaxed) }
        try monitor.withLock { () throws(EngineError) in
            while unsafe state.isCheckpointing {
                if hasTurn { turn.runQueuedWork() }
                try lifecycle.require(.checkpoint)
                if unsafe state.isCheckpointing { monitor.wait(.progress) }
            }
            try lifecycle.require(.checkpoint)
            unsafe state.isCheckpointing = true
        }
    }

    /// Waits until no checkpoint runs. Afterwards only the checkpoint that closes the store may run.
    func endCheckpoints() {
        monitor.withLock {
            while unsafe state.isCheckpointing { monitor.wait(.progress) }
            lifecycle.finish()
            monitor.signalAll(.progress)
        }
    }

    /// Returns when no checkpoint is in progress.
    func waitForCheckpoint() {
        checkpointWaiters.wrappingAdd(1, ordering: .relaxed)
        defer { checkpointWaiters.wrappingSubtract(1, ordering: .relaxed) }
        monitor.withLock { while unsafe state.isCheckpointing { monitor.wait(.progress) } }
    }

    func endCheckpoint() {
        monitor.withLock {
            assert(unsafe state.isCheckpointing, "A checkpoint ends after it began.")
            unsafe state.isCheckpointing = false
            monitor.signalAll(.progress)
        }
    }

    // MARK: Committing

    /// Waits for running transactions. The store is closing, so no new ones begin.
    func endWriters() {
        monitor.withLock {
            turn.waitUntilFree()
        }
    }

    /// Throws if commits are refused, or if the version on which a transaction is based was undone.
    func requireNewest(_ base: StoreVersion) throws(EngineError) {
        try monitor.withLock { () throws(EngineError) in
            try lifecycle.require(.commit)
            guard unsafe state.executed === base else {
                throw undoneError
            }
        }
    }

    var undoneError: EngineError {
        unsafe state.undone.last ?? EngineError(.full, "The transactions before this one could not be written.")
    }

    /// Queues an executed transaction, whose version becomes the base of the next one. The caller still has the turn.
    /// Returns the round, which the caller must pass to `wait` once. Throws if the version on which it is based was undone meanwhile.
    func enqueue(_ commit: Commit, on base: StoreVersion) throws(EngineError) -> Int {
        try monitor.withLock { () throws(EngineError) in
            try lifecycle.require(.commit)
            guard unsafe state.executed === base else { throw undoneError }
            assert(unsafe commit.version.number > state.executed.number, "Versions are queued in ascending order.")
            unsafe state.pending.append(commit)
            unsafe state.executed = commit.version
            return unsafe state.undone.enter()
        }
    }

    /// The round of a version that the caller passes to `wait` once. Throws if commits are refused or if the version was undone.
    func enter(on base: StoreVersion) throws(EngineError) -> Int {
        try monitor.withLock { () throws(EngineError) in
            try lifecycle.require(.commit)
            guard unsafe state.executed === base else { throw undoneError }
            return unsafe state.undone.enter()
        }
    }

    /// Waits until a transaction is written and, with `needsSync`, synced. Leads a batch if there is no leader. Leaves the round. Calls `written`
    /// between the write and the sync of a batch that it leads.
    func wait(for number: TransactionNumber, round: Int, needsSync: Bool, written: (() -> Void)? = nil) throws(EngineError) {
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
            try lifecycle.require(.commit)
            if unsafe state.isFlushing { monitor.wait(.progress) } else { flush(needsSync: needsSync, written) }
        }
    }

    /// Writes the queued transactions as one batch. The caller has the lock, which is released during the write.
    private func flush(needsSync: Bool, _ written: (() -> Void)?) {
        guard let log = unsafe state.log else {
            return assertionFailure("A store without a log has failed or is closed, which a committing thread learns first.")
        }
        assert(unsafe !state.isFlushing, "One thread leads a batch.")
        unsafe state.isFlushing = true
        throttle(lag: lag())
        let group = unsafe state.pending
        unsafe state.pending = []
        registry.pool.files.writersAtWork.wrappingAdd(1, ordering: .relaxed)
        let isDue = unsafe state.syncBy.map { $0 <= MonotonicClock.nanoseconds } ?? false
        let syncs = needsSync || isDue || group.contains { $0.needsSync }
        monitor.unlock()
        var failure: EngineError?
        var mark: LogMark?
        do throws(EngineError) {
            if !group.isEmpty {
                var records: [TransactionRecord] = []
                for commit in group { commit.addRecords(to: &records) }
                mark = try log.append(records, beginsWriting: syncs && written != nil)
            }
            if syncs {
                written?()
                _ = try log.sync()
            }
        } catch { failure = error }
        finish(group, mark, synced: syncs, failure)
    }

    /// Publishes a logged batch, or undoes a batch that is not logged. Returns with the monitor locked.
    func finish(_ group: [Commit], _ mark: LogMark?, synced: Bool, _ failure: EngineError?) {
        if failure == nil {
            for commit in group { registry.publish(commit.version, retired: commit.retired) }
            for commit in group { commit.callPublished() }
        }
        registry.pool.files.writersAtWork.wrappingSubtract(1, ordering: .relaxed)
        monitor.lock()
        assert(unsafe state.isFlushing, "A batch has a leader until it is finished.")
        unsafe state.isFlushing = false
        if let failure { fail(group, failure, logged: mark != nil) } else { acknowledge(group, mark, synced: synced) }
        monitor.signalAll(.progress)
    }

    /// Throttles commits in favour of a checkpoint that falls behind, in proportion to the lag. This limits the size of the store, and no commit
    /// waits long. Other commits join the batch meanwhile.
    private func throttle(lag: Int) {
        guard lag > 0 else { return }
        monitor.unlock()
        usleep(UInt32(min(lag, CommitPipeline.lagMax) * CommitPipeline.microsecondsPerLag))
        monitor.lock()
    }

    // The pause for each unit of lag is about the time of a sync. The maximum is five units, so that a throttled commit takes less than ten times
    // as long as others.
    private static let microsecondsPerLag = 100
    private static let lagMax = 5

    private func acknowledge(_ group: [Commit], _ mark: LogMark?, synced: Bool) {
        assert(zip(group, group.dropFirst()).allSatisfy { $0.version.number < $1.version.number }, "A batch is in order.")
        if let last = group.last {
            assert(unsafe last.version.number > state.acknowledged, "Versions are acknowledged in ascending order.")
            unsafe state.acknowledged = last.version.number
        }
        if let mark { unsafe state.mark = mark }
        if synced {
            unsafe state.durable = unsafe state.acknowledged
            unsafe state.syncBy = nil
        } else {
            let due = group.map { MonotonicClock.nanoseconds &+ $0.syncWithin }
            unsafe state.syncBy = (due + (unsafe state.syncBy.map { [$0] } ?? [])).min()
        }
        assert(unsafe state.durable <= state.acknowledged, "Durable versions are acknowledged.")
        assert(unsafe state.acknowledged <= state.executed.number, "Acknowledged versions are executed.")
        unsafe state.statistics.groups += group.isEmpty ? 0 : 1
        unsafe state.statistics.syncs += synced ? 1 : 0
        for commit in group {
            unsafe state.statistics.commits += 1 + commit.earlier.count
            unsafe state.statistics.logBytes += commit.payload.count + commit.earlier.reduce(0) { $0 + $1.payload.count }
        }
    }

    /// Handles a failed batch. If the disk was full and nothing was logged, undoes all unpublished transactions. Otherwise poisons the store.
    func fail(_ group: [Commit], _ error: EngineError, logged: Bool) {
        guard error.code == .full, !logged else {
            return lifecycle.fail(
                error.code == .durabilityLost
                    ? error
                    : EngineError(
                        .durabilityLost,
                        "The log could not be written, so it is unknown which of the last commits are durable; reopen the store. (\(error.message))",
                        path: error.path, errno: error.errno))
        }
        let lost = group + (unsafe state.pending)
        assert(zip(lost, lost.dropFirst()).allSatisfy { $0.version.number < $1.version.number }, "Transactions are undone from the newest on.")
        unsafe state.pending = []
        // A writer that builds on the undone version still reads these nodes, so it ends its turn first.
        turn.runBeforeNext { [self] in
            for commit in lost.reversed() { giveBack(retired: commit.retired, born: commit.born) }
        }
        let published = registry.acquire()
        registry.release(published.number)
        assert(unsafe published.number <= state.executed.number, "Only unpublished versions are undone.")
        unsafe state.executed = published
        self.undone(published.number)
        unsafe state.undone.endRound(above: published.number, error)
    }

    private func giveBack(retired: [RetiredFrame], born: [UInt32]) {
        pool.cancelRetirement(retired)
        for frame in born { pool.discard(frame) }
    }

    /// Undoes an executed transaction that was not queued.
    func undo(retired: [RetiredFrame], born: [UInt32], above number: TransactionNumber) {
        giveBack(retired: retired, born: born)
        undone(number)
    }

    /// Writes and syncs all executed transactions. Throws if the store's files were removed, because the callers write to page files next.
    func drain() throws(EngineError) {
        try requireStore()
        let (number, round) = monitor.withLock { unsafe (state.executed.number, state.undone.enter()) }
        try wait(for: number, round: round, needsSync: true)
    }

    /// Waits until a version and all versions before it are durable. Before that, a conflict with it must not be reported, since it may be undone.
    func waitUntilDurable(_ number: TransactionNumber) throws(EngineError) {
        let round = monitor.withLock { unsafe state.undone.enter() }
        try wait(for: number, round: round, needsSync: true)
    }

    /// Syncs acknowledged transactions whose sync is due.
    func syncIfDue() throws(EngineError) {
        let isDue = monitor.withLock { unsafe state.syncBy.map { $0 <= MonotonicClock.nanoseconds } ?? false }
        if isDue { try syncIfNeeded() }
    }

    /// Syncs the acknowledged transactions that are not durable yet, if there are any.
    func syncIfNeeded() throws(EngineError) {
        let waiting: (number: TransactionNumber, round: Int)? = monitor.withLock {
            unsafe state.acknowledged > state.durable ? (state.acknowledged, state.undone.enter()) : nil
        }
        if let waiting { try wait(for: waiting.number, round: waiting.round, needsSync: true) }
    }

    /// Pins the newest acknowledged version, and returns it with the log position after it. Waits until both are durable, since a checkpoint must
    /// not contain transactions that are not durable in the log.
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

    // MARK: Closing

    /// Refuses all further commits: the store's files were removed or replaced.
    func fail(_ error: EngineError) {
        monitor.withLock {
            lifecycle.fail(error)
            end()
        }
    }

    /// Refuses all further commits: the store is closed. First waits for a batch that is being written, also when the closing has failed: a batch that fails
    /// records its failure, so that its commits are in doubt. Otherwise they would report only that the store is closed, and an opening could find them.
    func close() {
        monitor.withLock {
            while unsafe state.isFlushing { monitor.wait(.progress) }
            lifecycle.end()
            end()
        }
    }

    /// The caller has the monitor's lock.
    private func end() {
        unsafe state.log = nil
        monitor.signalAll(.progress)
        monitor.signalAll(.turn)
    }

    /// The newest executed transaction. It may not be written to the log yet.
    var executed: TransactionNumber { monitor.withLock { unsafe state.executed.number } }
    var statistics: PipelineStatistics { monitor.withLock { unsafe state.statistics } }
    /// The number of undone rounds in which threads still wait.
    var undoneCount: Int { monitor.withLock { unsafe state.undone.count } }

    /// Publishes a version of replayed transactions, which are in the log already.
    func publishReplayed(_ version: StoreVersion, retired: [RetiredFrame]) {
        registry.publish(version, retired: retired)
        monitor.withLock {
            unsafe state.executed = version
            unsafe state.acknowledged = version.number
            unsafe state.durable = version.number
        }
    }

    /// Sets the position at which replay from the next checkpoint starts.
    func setMark(_ mark: LogMark) { monitor.withLock { unsafe state.mark = mark } }

    /// The log position after the newest acknowledged version.
    var mark: LogMark { monitor.withLock { unsafe state.mark } }

    /// Removes the log before another process continues it. No transaction runs or waits.
    func detachLog() {
        monitor.withLock {
            assert(unsafe turn.isFree && !state.isFlushing && state.pending.isEmpty, "The log is handed over between transactions.")
            unsafe state.log = nil
            unsafe state.syncBy = nil
        }
    }
}

/// Counts since the store was opened.
struct PipelineStatistics: Sendable {
    var commits = 0
    var groups = 0
    var syncs = 0
    var logBytes = 0
}
