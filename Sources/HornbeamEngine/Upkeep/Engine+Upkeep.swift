// The work between commits: checkpoints, cleaning, compaction, and freeing space on a full disk.
//
// It runs on the background threads, or after commits if there are none. Its errors are not reported. If the cause remains, a later commit
// throws the error.

import HornbeamThreads
import Synchronization

extension Engine {
    /// Starts the background threads at the first commit, since a store that is only read needs no upkeep. If no thread can be created, the next
    /// commit tries again.
    func startUpkeep() {
        assert(!options.isReadOnly, "A store that is only read needs no upkeep.")
        if options.usesBackgroundThread { upkeepThreads.start(self) }
    }

    /// Stops the background threads, and waits for their work. No commit may follow, since nothing would sync it.
    package func endUpkeep() {
        core.pipeline.endThrottling()
        upkeepThreads.stop()
    }

    /// The durability level of a commit. A lazy commit is synced at once if there is no background thread that syncs it within its delay.
    func effective(_ durability: Durability) -> Durability {
        options.usesBackgroundThread && !upkeepThreads.wereStarted ? .full : durability
    }

    /// Writes a checkpoint of all executed commits.
    package func checkpoint() throws(EngineError) {
        try requireOwnProcess()
        try withTurn { () throws(EngineError) in try checkpoint(isAwaited: false) }
    }

    /// Calls `body` with the turn of this process, if several write the store.
    private func withTurn(_ body: () throws(EngineError) -> Void) throws(EngineError) {
        try sharing?.turn.enter()
        defer { sharing?.turn.exit() }
        try body()
    }

    /// Calls `body`, unless another process has the turn or asks for it.
    private func ifTurnIsHeld(_ body: () -> Void) {
        guard let turn = sharing?.turn else { return body() }
        guard turn.enterIfHeld() else { return }
        defer { turn.exit() }
        body()
    }

    /// Writes a checkpoint. `isAwaited`: a commit waits for it, so it uses several threads. `isThrottled`: it runs in the background and is
    /// throttled in favour of commits.
    private func checkpoint(isAwaited: Bool, isThrottled: Bool = false) throws(EngineError) {
        guard let log = state.withLock({ $0.log }) else {
            throw EngineError(.closed, "The store is closed.", path: path)
        }
        do throws(EngineError) {
            // Includes the case that the lack of space caused this checkpoint, which freed some.
            let wasShortOfRoom = isShortOfSpace
            if !isAwaited { attempt { () throws(EngineError) in try reclaimSpaceBeforeCheckpoint() } }
            try checkpointer.run(log: log, isAwaited: isAwaited, isThrottled: isThrottled)
            try reclaimSpace(log, isAwaited: isAwaited, isThrottled: isThrottled)
            if wasShortOfRoom || isShortOfSpace {
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
        if !upkeepThreads.wereStarted { core.reserve.prepare() }
    }

    /// Moves all pages to new files, in the order of their keys, and removes the old files.
    ///
    /// It is never necessary, since checkpoints and cleaning limit the size of a store (`SpacePolicy`). During the call, the store needs space for
    /// a second copy of its live pages. `progress` receives the number of moved bytes. Files that snapshots need are not removed.
    package func compact(progress: ProgressReport? = nil) throws(EngineError) {
        try requireOwnProcess()
        try withTurn { () throws(EngineError) in try compactInTurn(progress) }
    }

    private func compactInTurn(_ progress: ProgressReport?) throws(EngineError) {
        guard let log = state.withLock({ $0.log }) else {
            throw EngineError(.closed, "The store is closed.", path: path)
        }
        try checkpointer.run(log: log)
        try emptyAllFiles(log, progress)
        // Two more checkpoints release the files that only the earlier ones need.
        try checkpointer.run(log: log, isForced: true)
        try checkpointer.run(log: log, isForced: true)
    }

    /// The bytes of redo since the last checkpoint, and the bytes of log for them.
    private var logGrowth: (redo: Int, logged: Int) {
        let (log, before) = state.withLock { ($0.log, $0.lastCheckpointLogBytes) }
        let end = log?.durable.rawValue ?? 0
        let start = checkpointer.latest.log.position.rawValue
        return (core.pipeline.statistics.logBytes - before, end > start ? Int(end - start) : 0)
    }

    /// True if a checkpoint is due because of free space, the size of the log, the replaced bytes or the memory.
    private var needsCheckpoint: Bool {
        let (bytes, logged) = logGrowth
        if logged > 0, isShortOfSpace { return true }
        if bytes > options.checkpointLogBytes || core.space.isCheckpointDue(logged: logged) { return true }
        return bytes > 0 && isPoolFilling
    }

    /// True if the disk is full, or may be full before the next checkpoint ends.
    var isShortOfSpace: Bool {
        core.room.isShort(unwritten: core.pool.unwritten * core.pool.pageSize)
    }

    private func readFreeBytes() { core.room.setFreeBytes(core.files.fileSystem.availableBytes(path)) }

    /// True if half of the pool contains nodes that a checkpoint would write. Nodes that only old versions need are never written.
    private var isPoolFilling: Bool {
        let half = core.pool.capacity / 2
        let unwritten = core.pool.unwritten
        return unwritten > half && unwritten - core.registry.waitingInMemory > half
    }

    /// Upkeep after a commit. The commit has succeeded, so errors of upkeep are not thrown. The committing thread is a user of the turn of this
    /// process, and must not wait for it again. `changedBytes`: the bytes of redo of a transaction that is not big, or of its nodes if redo is omitted.
    func afterCommit(isBig: Bool, changedBytes: Int) {
        assert(changedBytes >= 0 && !options.isReadOnly, "A writer counts the bytes that it changes.")
        let hasUpkeepThreads = upkeepThreads.wereStarted
        if !hasUpkeepThreads {
            readFreeBytes()
            maintainVersions()
        } else if let log = state.withLock({ $0.log }), log.needsPreparedSegment {
            upkeepThreads.log.wake()
        }
        if hasUpkeepThreads, !isBig, mayPostponeCheckpoint(changedBytes: changedBytes) { return }
        guard needsCheckpoint else { return }
        guard hasUpkeepThreads else { return attempt { () throws(EngineError) in try checkpoint(isAwaited: false) } }
        let logged = logGrowth.logged
        let isLarge = changedBytes >= Engine.changedBytesThatWait
        // A big commit that replaces much of the store waits for a checkpoint, since the next one would need as much disk space again. A large commit
        // that fills the pool waits for it too, since the next one would need as much memory again. No commit waits soon after a failed checkpoint.
        let mayWait = state.withLock { $0.checkpointPause == 0 }
        guard mayWait, isBig && core.space.isCheckpointDue(logged: logged) || isLarge && isPoolFilling else {
            upkeepThreads.pages.wake()
            if isLarge, core.space.isLogOverdue(logged: logged) { core.pipeline.waitForCheckpoint() }
            return
        }
        attempt { () throws(EngineError) in try checkpoint(isAwaited: true) }
    }

    /// True for most commits with few changes: a checkpoint may start some commits later, and `needsCheckpoint` takes several locks.
    private func mayPostponeCheckpoint(changedBytes: Int) -> Bool {
        guard changedBytes < Engine.fewChangedBytes, !core.room.state.acceptsOnlyFreeing else { return false }
        return littleCommits.wrappingAdd(1, ordering: .relaxed).newValue % Engine.commitsPerCheck != 0
    }

    private static let fewChangedBytes = 4 << 10
    private static let commitsPerCheck: UInt = 8

    /// The changed bytes from which a commit may wait for a checkpoint. Smaller commits let log and memory grow slowly.
    private static let changedBytesThatWait = 64 << 10

    /// Frees space after a commit has failed on a full disk, so that the next one may succeed. Runs even during the pause after a failed checkpoint.
    func freeSpace() {
        _ = core.pipeline.releaseRecycledSegments()
        attempt { () throws(EngineError) in try checkpoint(isAwaited: false) }
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

    /// Does all work of the background threads. An error of one part does not prevent the next part: for example, a checkpoint may free space
    /// after no log segment could be preallocated.
    package func maintain() {
        maintainLog()
        maintainPages()
    }

    /// Syncs lazy commits whose delay has passed, and preallocates the next log segment.
    func maintainLog() { ifTurnIsHeld { maintainLogInTurn() } }

    private func maintainLogInTurn() {
        readFreeBytes()
        guard lifecycle.allows(.commit) else { return }
        attempt { () throws(EngineError) in try core.pipeline.syncIfDue() }
        attempt { () throws(EngineError) in
            guard let log = state.withLock({ $0.log }) else { return }
            // The reserve is created first. While it is spent, no segment is preallocated, and commits make segments as short as possible.
            if log.currentSegment != nil { core.reserve.prepare() }
            if log.needsPreparedSegment, !core.room.state.acceptsOnlyFreeing { try log.prepareSegment() }
        }
    }

    /// Releases old versions, and writes a checkpoint if one is due.
    func maintainPages() {
        maintainVersions()
        ifTurnIsHeld { maintainPagesInTurn() }
    }

    private func maintainPagesInTurn() {
        guard lifecycle.allows(.checkpoint) else { return }
        attempt { () throws(EngineError) in
            if needsCheckpoint || cleaner.isUnfinished, !isPausing() {
                try checkpoint(isAwaited: false, isThrottled: true)
            }
        }
    }

    /// Releases and expires versions beyond the limits of the retention, and releases more retained versions when the pool's memory is short.
    private func maintainVersions() {
        core.registry.endOldVersions()
        if core.pool.isShort { core.registry.releaseHalfOfRetained() }
    }

    /// True during the pause after a failed checkpoint. Each attempt writes all new pages, so it is not repeated at once.
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
