// The work between commits: checkpoints, cleaning, compaction, and free space on a full disk.
//
// It runs on the background threads, or after commits if there are none. The next call that is affected by an error of this work throws it.

import HornbeamThreads
import Synchronization

extension Engine {
    /// Starts the background threads with the first commit, since a store that is only read needs no upkeep. If the system has no thread, the
    /// next commit tries again.
    func startUpkeep() {
        assert(readerPosition == nil, "A store that is only read needs no upkeep.")
        guard options.usesBackgroundThread, !hasUpkeepThreads.load(ordering: .relaxed) else { return }
        guard maintenance.start(self, { $0.maintainPages() }), logKeeper.start(self, { $0.maintainLog() }) else { return }
        hasUpkeepThreads.store(true, ordering: .relaxed)
    }

    /// The durability level of a commit: without the thread that would sync it in time, a lazy commit is synced at once.
    func effective(_ durability: Durability) -> Durability {
        options.usesBackgroundThread && !hasUpkeepThreads.load(ordering: .relaxed) ? .full : durability
    }

    /// Writes a checkpoint of all executed commits.
    package func checkpoint() throws(EngineError) {
        try requireOwnProcess()
        try checkpoint(isAwaited: false)
    }

    /// The same; on all processors if a commit waits for it, throttled in favour of commits if it runs in the background.
    private func checkpoint(isAwaited: Bool, isThrottled: Bool = false) throws(EngineError) {
        guard let log = state.withLock({ $0.log }) else {
            throw EngineError(.closed, "The store is closed.", path: path)
        }
        do throws(EngineError) {
            // Includes the case that the lack of space caused this checkpoint, which freed some.
            let wasShortOfRoom = isShortOfRoom
            try checkpointer.run(log: log, isAwaited: isAwaited, isThrottled: isThrottled)
            try reclaimSpace(log, isThrottled: isThrottled)
            if wasShortOfRoom || isShortOfRoom {
                // Releases what only the previous checkpoint keeps.
                try checkpointer.run(log: log, isForced: true)
                log.releaseRecycledSegments()
                core.reserve.prepare(isUrgent: true)
            }
        } catch {
            if error.code == .durabilityLost { core.pipeline.fail(error) }
            state.withLock { $0.checkpointPause = 100 }
            throw error
        }
        let bytes = core.pipeline.statistics.logBytes
        state.withLock { $0.lastCheckpointLogBytes = bytes }
        if !hasUpkeepThreads.load(ordering: .relaxed) { core.reserve.prepare() }
    }

    /// Moves all pages to new files, in the order of their keys, and removes the old files.
    ///
    /// Never necessary, since checkpoints keep the store within its bound. Needs space for the live pages meanwhile. `progress` receives the bytes
    /// moved. Pages of snapshots are kept.
    package func compact(progress: ProgressReport? = nil) throws(EngineError) {
        try requireOwnProcess()
        guard let log = state.withLock({ $0.log }) else {
            throw EngineError(.closed, "The store is closed.", path: path)
        }
        try checkpointer.run(log: log)
        try moveEverything(log, progress)
        // Two more checkpoints release what only the earlier ones need.
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

    /// True if the size of the log, the replaced bytes or the memory demand a checkpoint.
    private var needsCheckpoint: Bool {
        let (bytes, logged) = logGrowth
        if logged > 0, isShortOfRoom { return true }
        if bytes > options.checkpointLogBytes || core.space.isCheckpointDue(logged: logged) { return true }
        return bytes > 0 && isPoolFilling
    }

    /// True if the disk is full, or may be full before the next checkpoint ends.
    var isShortOfRoom: Bool {
        core.room.isShort(unwritten: core.pool.unwritten * core.pool.pageSize)
    }

    private func readFreeBytes() { core.room.setFreeBytes(core.files.fileSystem.availableBytes(path)) }

    /// True if half of the pool holds nodes that a checkpoint would write. Nodes for old versions only are never written.
    private var isPoolFilling: Bool {
        let half = core.pool.capacity / 2
        let unwritten = core.pool.unwritten
        return unwritten > half && unwritten - core.registry.waitingInMemory > half
    }

    /// Upkeep after a commit. The commit has succeeded, so errors are left to the next call that they affect.
    func afterCommit(isBig: Bool, redoBytes: Int) {
        assert(redoBytes >= 0 && readerPosition == nil, "A writer counts the bytes that it logs.")
        let hasUpkeepThreads = hasUpkeepThreads.load(ordering: .relaxed)
        if !hasUpkeepThreads {
            readFreeBytes()
            maintainVersions()
        } else if let log = state.withLock({ $0.log }), log.needsPreparedSegment {
            logKeeper.wake()
        }
        guard needsCheckpoint else { return }
        guard hasUpkeepThreads else { return attempt { () throws(EngineError) in try checkpoint() } }
        let logged = logGrowth.logged
        let isLarge = redoBytes >= Engine.redoBytesThatWait
        // A commit that replaces much of the store waits for the space, since the next one would need it too. A commit that fills the pool waits for
        // the memory, since the next one would need as much beside the nodes being written. After a failure the background thread pauses first.
        let mayWait = state.withLock { $0.checkpointPause == 0 }
        guard mayWait, isBig && core.space.isCheckpointDue(logged: logged) || isLarge && isPoolFilling else {
            maintenance.wake()
            if isLarge, core.space.isLogOverdue(logged: logged) { core.pipeline.waitForCheckpoint() }
            return
        }
        attempt { () throws(EngineError) in try checkpoint(isAwaited: true) }
    }

    /// Commits with this much redo wait when checkpoints fall behind. Smaller ones do not make log and memory grow that fast.
    private static let redoBytesThatWait = 64 << 10

    /// Frees space after a commit met a full disk, so that the next one may succeed. It waits for no pause: the next commit may be a delete.
    func freeSpace() {
        _ = core.pipeline.releaseRecycledSegments()
        attempt { () throws(EngineError) in try checkpoint() }
    }

    /// Throws while the reserve is spent, unless a transaction frees space.
    func requireRoom(for transaction: WriteTransaction, _ version: StoreVersion) throws(EngineError) {
        guard core.room.state.acceptsOnlyFreeing, !transaction.frees(version) else { return }
        core.reserve.prepare(isUrgent: true)
        guard core.room.state.acceptsOnlyFreeing else { return }
        throw EngineError(
            .full, "The disk is full. Until there is room again, only commits that delete more than they add are accepted. Free some space.",
            path: path)
    }

    /// All work of the background threads. Errors are left to the next commit, which meets them too: a full disk must not keep a checkpoint from
    /// freeing space.
    package func maintain() {
        maintainLog()
        maintainPages()
    }

    /// Syncs the commits whose delay is over, and preallocates the next segment.
    func maintainLog() {
        readFreeBytes()
        guard lifecycle.allows(.commit) else { return }
        attempt { () throws(EngineError) in try core.pipeline.syncIfDue() }
        attempt { () throws(EngineError) in
            guard let log = state.withLock({ $0.log }) else { return }
            // The reserve has priority. While it is spent, commits make log segments as short as possible.
            if log.currentSegment != nil { core.reserve.prepare() }
            if log.needsPreparedSegment, !core.room.state.acceptsOnlyFreeing { try log.prepareSegment() }
        }
    }

    /// Expires old versions, and writes a checkpoint if one is due.
    func maintainPages() {
        maintainVersions()
        guard lifecycle.allows(.checkpoint) else { return }
        attempt { () throws(EngineError) in
            if needsCheckpoint || cleaner.isUnfinished, !isPausing() {
                try checkpoint(isAwaited: false, isThrottled: true)
            }
        }
    }

    /// Expires versions that are too old, and releases retained ones when the pool's memory is short.
    private func maintainVersions() {
        core.registry.endOldVersions()
        if core.pool.isShort { core.registry.giveUpRetained() }
    }

    /// Pauses after a failed checkpoint, since each attempt writes all new pages again.
    private func isPausing() -> Bool {
        state.withLock { state in
            assert(state.checkpointPause >= 0, "A pause is a number of rounds.")
            state.checkpointPause = max(state.checkpointPause - 1, 0)
            return state.checkpointPause > 0
        }
    }

    func attempt(_ work: () throws(EngineError) -> Void) {
        do throws(EngineError) { try work() } catch {
            if error.code == .durabilityLost { core.pipeline.fail(error) }
        }
    }

    /// Reclaims space before the store is closed.
    func reclaimSpaceBeforeClosing(_ log: LogWriter) throws(EngineError) {
        let files = try core.space.cleanable(readers: [])
        guard core.space.policy.isOverdue(files) || core.space.isCheckpointDue(logged: 0) else { return }
        try checkpointer.run(log: log)
        try reclaimSpace(log)
    }
}
