// What keeps an engine in shape while it is used: checkpoints, cleaning, compaction, and room on a full disk.
//
// It happens on the background thread, or after commits where there is none. What goes wrong there is told by the next
// call that needs it.

import HornbeamThreads
import Synchronization

extension Engine {
    /// Starts the background threads with the first commit: a store that is only read needs no upkeep. Where the system has no
    /// thread to give, the next commit tries again.
    func startUpkeep() {
        guard options.usesBackgroundThread, !isTended.load(ordering: .relaxed) else { return }
        guard maintenance.start(self, { $0.tendPages() }), logKeeper.start(self, { $0.tendLog() }) else { return }
        isTended.store(true, ordering: .relaxed)
    }

    /// When a commit is acknowledged: without the thread that would sync it in time, a lazy one is synced at once.
    func effective(_ durability: Durability) -> Durability {
        options.usesBackgroundThread && !isTended.load(ordering: .relaxed) ? .full : durability
    }

    /// Writes a checkpoint of everything committed so far.
    package func checkpoint() throws(EngineError) {
        try requireOwnProcess()
        try checkpoint(isAwaited: false)
    }

    /// The same, on all processors if a commit waits for it; in the background with rests for the sake of commits.
    private func checkpoint(isAwaited: Bool, isPaced: Bool = false) throws(EngineError) {
        guard let log = state.withLock({ $0.log }) else {
            throw EngineError(.closed, "The store is closed.", path: path)
        }
        do throws(EngineError) {
            // Also where this checkpoint was written for want of room, and won some.
            let wasShortOfRoom = isShortOfRoom(log)
            try checkpointer.run(log: log, isAwaited: isAwaited, isPaced: isPaced)
            try winSpace(log, isPaced: isPaced)
            if wasShortOfRoom || isShortOfRoom(log) {
                // What only the checkpoint before keeps goes too.
                try checkpointer.run(log: log, isForced: true)
                log.giveUpSegments()
                core.reserve.prepare(isUrgent: true)
            }
        } catch {
            if error.code == .durabilityLost { core.pipeline.close(error) }
            state.withLock { $0.checkpointPause = 100 }
            throw error
        }
        let bytes = core.pipeline.statistics.logBytes
        state.withLock { $0.lastCheckpointLogBytes = bytes }
        if !isTended.load(ordering: .relaxed) { core.reserve.prepare() }
    }

    /// Moves all pages to new files, in the order of their keys, and lets go of the old ones.
    ///
    /// Never necessary: checkpoints keep the store within its bound. Needs room for the live pages meanwhile. `progress` is
    /// told the bytes that were moved. What snapshots keep stays.
    package func compact(progress: ProgressReport? = nil) throws(EngineError) {
        try requireOwnProcess()
        guard let log = state.withLock({ $0.log }) else {
            throw EngineError(.closed, "The store is closed.", path: path)
        }
        try checkpointer.run(log: log)
        try moveEverything(log, progress)
        // What only the checkpoint before the last one needs goes with the next one.
        try checkpointer.run(log: log, isForced: true)
        try checkpointer.run(log: log, isForced: true)
    }

    /// Bytes of redo since the last checkpoint, and what the log takes for them.
    private var logGrowth: (redo: Int, logged: Int) {
        let (log, before) = state.withLock { ($0.log, $0.lastCheckpointLogBytes) }
        let end = log?.durable.rawValue ?? 0
        let start = checkpointer.latest.log.position.rawValue
        return (core.pipeline.statistics.logBytes - before, end > start ? Int(end - start) : 0)
    }

    /// True if log, space or memory ask for a checkpoint.
    private var needsCheckpoint: Bool {
        let (bytes, logged) = logGrowth
        if logged > 0, let log = state.withLock({ $0.log }), isShortOfRoom(log) { return true }
        if bytes > options.checkpointLogBytes || core.space.isCheckpointDue(logged: logged) { return true }
        return bytes > 0 && isPoolFilling
    }

    /// True if the disk is full, or what waits to be written would take a quarter of what is free: little may wait then, or there is no
    /// room for it in the end.
    func isShortOfRoom(_ log: LogWriter) -> Bool {
        if log.lacksRoom.load(ordering: .relaxed) || core.reserve.isSpent { return true }
        return core.pool.unwritten * core.pool.pageSize > roomSeen.load(ordering: .relaxed) / 4
    }

    private func lookForRoom() {
        roomSeen.store(core.files.fileSystem.availableBytes(path) ?? .max, ordering: .relaxed)
    }

    /// True if half of the pool is nodes that a checkpoint would write. Those that only old versions need it never writes.
    private var isPoolFilling: Bool {
        let half = core.pool.capacity / 2
        let unwritten = core.pool.unwritten
        return unwritten > half && unwritten - core.registry.waitingInMemory > half
    }

    /// The commit is done: what upkeep meets now is told by the next call that needs it.
    func afterCommit(isBig: Bool, redoBytes: Int) {
        let isTended = isTended.load(ordering: .relaxed)
        if !isTended {
            lookForRoom()
            tendVersions()
        } else if let log = state.withLock({ $0.log }), log.needsSpare {
            logKeeper.wake()
        }
        guard needsCheckpoint else { return }
        guard isTended else { return attempt { () throws(EngineError) in try checkpoint() } }
        let logged = logGrowth.logged
        let isLarge = redoBytes >= Engine.redoBytesThatWait
        // Who replaces much of the store in one go waits for the space, else the next one would need it too; who fills the
        // pool waits for the memory, else its next transaction would need as much beside what is being written.
        // One that has just failed is left to the background, which lets some time pass.
        let mayWait = state.withLock { $0.checkpointPause == 0 }
        guard mayWait, isBig && core.space.isCheckpointDue(logged: logged) || isLarge && isPoolFilling else {
            maintenance.wake()
            if isLarge, core.space.isLogOverdue(logged: logged) { core.pipeline.waitForCheckpoint() }
            return
        }
        attempt { () throws(EngineError) in try checkpoint(isAwaited: true) }
    }

    /// Commits of so much redo wait when checkpoints fall behind; smaller ones need not, they are not what makes log and memory grow so fast.
    private static let redoBytesThatWait = 64 << 10

    /// The disk was too full for a commit: lets go of what it can, so that the next one may find room.
    func makeRoom() {
        _ = core.pipeline.giveUpSegments()
        attempt { () throws(EngineError) in if !isPausing() { try checkpoint() } }
    }

    /// Throws while the reserve is spent, unless a transaction leaves less than it found.
    func requireRoom(for transaction: WriteTransaction, _ version: StoreVersion) throws(EngineError) {
        guard core.reserve.isSpent, !transaction.frees(version) else { return }
        core.reserve.prepare(isUrgent: true)
        guard core.reserve.isSpent else { return }
        throw EngineError(
            .full, "The disk is full. Until there is room again only what deletes more than it adds can be saved. Free some space.",
            path: path)
    }

    /// All that the background threads do now and then. Errors come back with the next commit, which meets them itself;
    /// a full disk must not keep a checkpoint from freeing space.
    package func maintain() {
        tendLog()
        tendPages()
    }

    /// Syncs what was promised to be synced by now, and makes the next segment ready.
    func tendLog() {
        lookForRoom()
        attempt { () throws(EngineError) in try core.pipeline.syncIfDue() }
        attempt { () throws(EngineError) in
            guard let log = state.withLock({ $0.log }) else { return }
            // The reserve comes first; while it is spent, each commit makes no more of the log than it needs.
            if log.currentSegment != nil { core.reserve.prepare() }
            if log.needsSpare, !core.reserve.isSpent { try log.prepareSpare() }
        }
    }

    /// Ends old versions, and writes a checkpoint if one is due.
    func tendPages() {
        tendVersions()
        attempt { () throws(EngineError) in
            if needsCheckpoint || cleaner.isUnfinished, !isPausing() {
                try checkpoint(isAwaited: false, isPaced: true)
            }
        }
    }

    /// Ends versions that are too old, and those that are only retained when the pool's memory runs short.
    private func tendVersions() {
        core.registry.endOldVersions()
        if core.pool.isShort { core.registry.giveUpRetained() }
    }

    /// After a checkpoint failed, a while passes before the next: each writes all new pages again.
    private func isPausing() -> Bool {
        state.withLock { state in
            state.checkpointPause = max(state.checkpointPause - 1, 0)
            return state.checkpointPause > 0
        }
    }

    func attempt(_ work: () throws(EngineError) -> Void) {
        do throws(EngineError) { try work() } catch {
            if error.code == .durabilityLost { core.pipeline.close(error) }
        }
    }

    /// Wins space back after a checkpoint, before the store is closed.
    func tidy(_ log: LogWriter) throws(EngineError) {
        let files = try core.space.cleanable(readers: [])
        guard core.space.policy.isOverdue(files) || core.space.isCheckpointDue(logged: 0) else { return }
        try checkpointer.run(log: log)
        try winSpace(log)
    }
}
