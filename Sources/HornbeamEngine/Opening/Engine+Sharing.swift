// Takes over a shared store from another process, hands it over, and closes it.
//
// While another process has the turn, the engine is a reader: its version is in memory, and `refresh` continues in the log. To take over, it
// replays the rest of the log and appends to the current segment, if the last holder left a hand-over record. Without a record, that
// process died or failed, and the engine recovers the store like an opening after a crash.
//
// Invariant: while the process has the turn, no other process changes the folder. Files that another process removed stay open in this one
// until the engine starts from a checkpoint that does not need them.

import HornbeamThreads

extension Engine {
    /// Begins to share the store with other processes.
    func start(_ turn: ProcessTurn, isHeld: Bool) {
        let newest = latest
        state.withLock { state in
            state.lock = turn.lock
            state.recovered = newest
        }
        let work = ProcessTurn.Work(
            takeOver: { [weak self, path] () throws(EngineError) in
                guard let self else { throw EngineError(.closed, "The store is closed.", path: path) }
                try self.takeOver()
            },
            handOver: { [weak self] in self?.handOver() },
            catchUp: { [weak self] in
                do throws(EngineError) { return try self?.refresh() ?? false } catch { return false }
            })
        turn.start(work, isHeld: isHeld)
    }

    // MARK: Taking over

    /// Reads the commits of other processes and continues the log. The process has the turn.
    func takeOver() throws(EngineError) {
        guard let readerPosition, let turn = sharing?.turn else { preconditionFailure("An engine that shares its store has a position in the log.") }
        if let failure { throw failure }
        try turn.lock.verify()
        try readerPosition.place.withLock { (place) throws(EngineError) in
            assert(!place.isWriting, "The turn is taken over once.")
            beginReadingOthers()
            let log: LogWriter
            if let resumed = try resumedLog(readerPosition, &place) { log = resumed } else {
                let (fresh, recovered) = try recovery.openForWriting(turn.lock, nil)
                replaceParts(with: fresh)
                cleaner.round = nil
                log = recovered
            }
            let known = place.followed
            place.followed = latest
            do throws(EngineError) {
                try follower?(Followed(after: known, hasTurn: true))
                try startWriting(log, &place)
            } catch {
                log.close()
                throw error
            }
        }
    }

    /// Records how far this process has read the log, for `hornbeam info`.
    func recordProgress(_ place: ReaderPosition.Place) {
        sharing?.turn.lock.recordProgress(place.end.position.rawValue, oldestSnapshot: readerPosition?.oldestReplacedAt(core.registry))
    }

    // MARK: Following other processes

    /// Commits of other processes that this one has read.
    package struct Followed: Sendable {
        /// The newest transaction before.
        package let after: TransactionNumber
        /// True if this process has the turn. Its transactions begin after the call.
        package let hasTurn: Bool
    }

    package typealias Follower = @Sendable (Followed) throws(EngineError) -> Void

    /// Calls a closure whenever this process has read commits of others, in order, and each time that it takes the turn. With the turn, an error of
    /// the closure refuses the transactions that wait. The closure must not refresh the engine or begin a transaction. Called once.
    package func follow(_ body: @escaping Follower) {
        readerPosition?.place.withLock { $0.followed = latest }
        subscription.withLock { $0 = Subscription(follower: body) }
        if options.usesBackgroundThread { sharing?.turn.follow() }
    }

    /// Holds the closure in a lock: each access to a function in generic storage would wrap it in two more functions, without end.
    struct Subscription: Sendable { let follower: Follower }

    var follower: Follower? { subscription.withLock { $0 }?.follower }

    /// True if several processes can write the store.
    package var isShared: Bool { sharing != nil }

    /// The lock of a shared store. A simulation of the death of the process releases it.
    package var sharedLock: (any SharedFileLock)? { sharing?.turn.lock }

    /// Keeps the turn of this process for several transactions. Others of this process may begin too. No effect if the store is not shared.
    package func holdTurn() throws(EngineError) {
        try requireOwnProcess()
        try sharing?.turn.hold()
    }

    package func releaseTurn() { sharing?.turn.release() }

    /// The log after the record of the last holder; nil if there is none or the log differs from it.
    private func resumedLog(_ position: ReaderPosition, _ place: inout ReaderPosition.Place) throws(EngineError) -> LogWriter? {
        let recovery = recovery
        guard let lock = sharing?.turn.lock, try lock.isRecovered(), let record = try handOverRecord() else { return nil }
        do throws(EngineError) {
            // This process has the turn, so the folder does not change.
            let names = try recovery.fileSystem.list(path)
            let newest = try MetaFile.open(recovery.metaPath, fileSystem: recovery.fileSystem, readOnly: true).states[0]
            if place.mustRestart || newest != place.state {
                try position.restart(self, &place)
                cleaner.round = nil
            } else if record.mark.position > place.end.position {
                do throws(EngineError) { try position.continueReplay(self, &place, to: record.mark.position, listing: names) } catch {
                    try position.restart(self, &place)
                }
            }
            guard place.end == record.mark, place.state == newest else { return nil }
            let reader = LogReader(directory: path, fileSystem: recovery.fileSystem, store: storeIdentifier, listing: names)
            guard let left = try reader.segments(from: newest.oldestLogSegment, upTo: record.mark, known: place.segments) else { return nil }
            core.files.setNextFile(atLeast: record.nextPageFile)
            // The numbers have no gap: `meta` may count a prepared segment that was removed.
            return try makeLog(record.mark, left.begun.last?.header.number.next ?? newest.nextLogSegment, left, names)
        } catch {
            // Recovery repeats the reading, and reports damage.
            guard error.code == .damaged || error.code == .logDamaged else { throw error }
            return nil
        }
    }

    private func handOverRecord() throws(EngineError) -> HandOverRecord? {
        guard let file = try lockFile(.read) else { return nil }
        return try HandOverRecord.read(file, store: storeIdentifier)
    }

    /// The file `lock`; nil if there is none.
    private func lockFile(_ mode: FileMode) throws(EngineError) -> (any File)? {
        do throws(EngineError) { return try recovery.fileSystem.open(recovery.lockPath, mode) } catch {
            guard error.code == .notAStore else { throw error }
            return nil
        }
    }

    private func makeLog(
        _ mark: LogMark, _ next: LogSegmentNumber, _ left: LeftSegments, _ names: [String]
    ) throws(EngineError) -> LogWriter {
        let recovery = recovery
        let reserve = core.reserve
        reserve.recordExistingFile(names, isHandedOver: true)
        let log = try LogWriter(
            directory: path, fileSystem: recovery.fileSystem, store: storeIdentifier, continuing: mark, nextSegment: next,
            options: options.log, durableHint: DurableLSNHint(recovery.lockPath, fileSystem: recovery.fileSystem, store: storeIdentifier),
            listing: names, lock: sharing?.turn.lock, reserve: reserve)
        log.setSegmentBytesGoal(core.space.segmentBytes)
        try log.resume(in: left)
        core.pipeline.setMark(mark)
        return log
    }

    /// Begins to write a log. The record of the last holder is removed before.
    func startWriting(_ log: LogWriter, _ place: inout ReaderPosition.Place) throws(EngineError) {
        if let file = try lockFile(.readWrite), try HandOverRecord.read(file, store: storeIdentifier) != nil { try HandOverRecord.remove(file) }
        try sharing?.turn.lock.recordRecovered()
        let bytes = core.pipeline.statistics.logBytes
        state.withLock { state in
            state.log = log
            state.lastCheckpointLogBytes = bytes
        }
        log.setSegmentBytesGoal(core.space.segmentBytes)
        core.pipeline.start(log)
        place.isWriting = true
    }

    // MARK: Handing over

    /// Makes all commits durable and ends writing. Without a failure, leaves a record with which another process continues the log.
    func handOver() {
        guard let readerPosition else { preconditionFailure("An engine that shares its store has a position in the log.") }
        readerPosition.place.withLock { place in
            let segments = state.withLock { $0.log }?.begunSegments ?? []
            let record = endWriting()
            place = ReaderPosition.Place(
                state: checkpointer.latest, end: core.pipeline.mark, segments: record == nil ? [] : segments, followed: latest)
            recordProgress(place)
            let recovery = recovery
            guard let record, !core.meta.isInDoubt else { return }
            // Without a record the next process recovers the store.
            do throws(EngineError) {
                try record.write(try recovery.fileSystem.open(recovery.lockPath, .readWrite), store: storeIdentifier)
            } catch {}
        }
    }

    /// Ends writing. The record of the end; nil after a failure.
    private func endWriting() -> HandOverRecord? {
        guard let log = state.withLock({ $0.log }) else { return nil }
        defer {
            core.pipeline.detachLog()
            state.withLock { $0.log = nil }
            log.close()
        }
        do throws(EngineError) {
            try core.pipeline.drain()
            try checkpointer.sealFiles()
            try core.files.openAllFiles()
        } catch {
            // A thread that waits for the sync of a lazy commit then receives the error; without it, the wait would not end.
            if error.code == .durabilityLost { core.pipeline.fail(error) }
            return nil
        }
        guard let mark = log.endForHandOver(), mark == core.pipeline.mark else { return nil }
        return HandOverRecord(mark: mark, nextPageFile: core.files.nextFile)
    }

    // MARK: Closing

    /// Waits for running transactions. Without other processes, takes the turn, writes a last checkpoint and removes the log; beside them, hands
    /// the turn over. Throws the failure of a store that has failed.
    func closeShared(_ turn: ProcessTurn) throws(EngineError) {
        endUpkeep()
        guard let isHeld = turn.end() else { return }
        // Removed, so that the last process writes a checkpoint even if the follower would refuse the commits of others because of their schema.
        subscription.withLock { $0 = nil }
        var failure: EngineError?
        do throws(EngineError) {
            if try becomesLast(turn, isHeld: isHeld) { return try closeWriter() }
            failure = self.failure
        } catch { failure = error }
        // A call of `closeWriter` that failed has done this.
        if lifecycle.close() {
            core.pipeline.endWriters()
            core.pipeline.endCheckpoints()
            core.pipeline.close()
        }
        state.withLock { $0.lock = nil }
        turn.lock.release()
        if let failure { throw failure }
    }

    /// True if no other process shares the store and this one has the turn. Otherwise another process has the turn or can take it.
    private func becomesLast(_ turn: ProcessTurn, isHeld: Bool) throws(EngineError) -> Bool {
        if try turn.lock.isSharedWithOthers() {
            if isHeld { handOver() }
            return false
        }
        if isHeld { return true }
        guard try turn.lock.tryTakeTurn() else { return false }
        try takeOver()
        return true
    }
}
