// The engine: named tables and indexes of bytes in one store, with atomic, durable, snapshot-isolated transactions.
//
// Reading: `snapshot()` and the views. Writing: `begin()`, changes, `commit()`. Commit/CommitPipeline.swift describes a commit,
// Checkpoint/Checkpointer.swift a checkpoint, Opening/Recovery.swift the opening, and Upkeep/Engine+Upkeep.swift the work between commits.

import Glibc
import HornbeamThreads
import Synchronization

/// An open store.
package final class Engine: Sendable {
    /// The parts that opening makes. They never change in a writer without other processes. Others replace them when they start again from a newer
    /// checkpoint.
    struct Parts {
        let core: EngineCore
        let checkpointer: Checkpointer

        init(_ core: EngineCore, _ checkpointer: Checkpointer) {
            self.core = core
            self.checkpointer = checkpointer
        }
    }

    private let first: Parts
    /// The registry of `first`, as a separate property for fast reads.
    private let firstRegistry: VersionRegistry
    /// The parts that replace `first` in a reader, or in a process that shares its store.
    private let newer = Guarded<Parts?>(nil)
    /// True if `newer` has parts. A process that is alone never replaces its parts, and takes no lock to read them.
    private let isReplaced = Atomic(false)
    private var parts: Parts { isReplaced.load(ordering: .acquiring) ? newer.withLock { $0 } ?? first : first }
    var core: EngineCore { parts.core }
    var checkpointer: Checkpointer { parts.checkpointer }
    /// That of the first parts, since a reader is closed once, whichever parts it has.
    var lifecycle: Lifecycle { first.core.lifecycle }
    package let options: EngineOptions
    /// The position in the log of an engine that was opened for reading, or that shares its store; nil in a writer without other processes.
    let readerPosition: ReaderPosition?
    /// The turn of this process if several processes write the store; otherwise nil.
    let sharing: StoreSharing?
    /// Receives the commits of other processes; nil if none was set.
    let subscription = Guarded<Subscription?>(nil)
    private let readings = Atomic(0)
    let state: Guarded<State>
    let upkeepThreads: UpkeepThreads
    /// The number of commits with few changes since the opening.
    let littleCommits = Atomic<UInt>(0)
    let cleaner = Cleaner()
    /// The commits of small work.
    package let queue = CommitQueue()
    /// Rows for transactions that apply redo.
    let replayRows = ReplayRows()
    /// The filters of indexes with an insert buffer.
    let insertBuffers = InsertBuffers()
    /// The folder of the store.
    package let path: String
    package let storeIdentifier: StoreIdentifier
    /// The number of forks at the opening. It differs in a forked child.
    private let forks = ProcessForks.watch()

    struct State {
        var log: LogWriter?
        var lastCheckpointLogBytes = 0
        /// The number of rounds in which the background thread starts no checkpoint, because one has failed.
        var checkpointPause = 0
        var lock: (any FileLock)?
        var loss: OpeningLoss?
        var recovered = TransactionNumber.zero
    }

    init(
        path: String, parts: Parts, options: EngineOptions, identifier: StoreIdentifier, readerPosition: ReaderPosition? = nil,
        sharing: StoreSharing? = nil
    ) {
        self.path = path
        first = parts
        firstRegistry = parts.core.registry
        self.options = options
        self.readerPosition = readerPosition
        self.sharing = sharing
        storeIdentifier = identifier
        state = Guarded(State())
        upkeepThreads = UpkeepThreads(mayStart: options.mayStartThread)
    }

    deinit {
        // A forked child has neither the threads nor the lock.
        guard forks == ProcessForks.count else { return }
        upkeepThreads.stop()
        // Without a lock the parts may belong to another engine.
        guard let lock = state.withLock({ $0.lock }) else { return }
        core.pipeline.endThrottling()
        sharing?.turn.abandon()
        lock.release()
    }

    /// The lost transactions, if the store was opened at an older version; otherwise nil.
    package internal(set) var loss: OpeningLoss? {
        get { state.withLock { $0.loss } }
        set { state.withLock { $0.loss = newValue } }
    }

    /// Replaces the parts with those of another engine of the same store.
    func replaceParts(with other: Engine) {
        let fresh = other.parts
        // An engine for reading may show a transaction that no writer has logged yet (`overlay`).
        let oldest = sharing == nil ? other.latest.next : other.latest
        assert(readerPosition != nil && oldest >= latest, "The parts are replaced by a state that is not older.")
        readerPosition?.endPublication(of: core.registry)
        newer.withLock { $0 = fresh }
        isReplaced.store(true, ordering: .releasing)
        loss = other.loss
    }

    /// The newest transaction when the store was opened for writing.
    package var recovered: TransactionNumber { state.withLock { $0.recovered } }

    func start(_ log: LogWriter, _ lock: any FileLock) {
        let newest = latest
        assert(readerPosition == nil, "Only a writer has a log.")
        state.withLock { state in
            state.log = log
            state.lock = lock
            state.recovered = newest
        }
        log.setSegmentBytesGoal(core.space.segmentBytes)
        core.pipeline.start(log)
    }

    /// Throws `closed` in a child that was forked after the store was opened. Takes no lock: a thread of the parent may have held it.
    func requireOwnProcess() throws(EngineError) {
        guard forks == ProcessForks.count else { throw .forked(path) }
    }

    // MARK: Reading

    /// The number of the newest published version. Needs no lock in a process that is alone.
    package var latest: TransactionNumber { isReplaced.load(ordering: .acquiring) ? core.registry.published : firstRegistry.published }

    /// True if transactions change the trees of a snapshot's version, provided that it is the newest one. After commits of another process, the
    /// engine may have read the trees of a version again.
    package func isCurrent(_ snapshot: Snapshot) -> Bool { snapshot.pool === core.pool }

    /// The number of times that this process began to read commits of others. A snapshot may contain commits of another process only if the number
    /// was larger when it was taken than before.
    package var readingsOfOthers: Int { readings.load(ordering: .acquiring) }
    func beginReadingOthers() { readings.wrappingAdd(1, ordering: .acquiringAndReleasing) }

    /// A snapshot of the newest published version, or of an older version that is live: retained, pinned or read.
    /// `isPinned`: the snapshot has no age limit.
    ///
    /// Throws `snapshotExpired` when the version is no longer live, `closed` when the store is closed.
    package func snapshot(
        at number: TransactionNumber? = nil, isPinned: Bool = false
    ) throws(EngineError) -> Snapshot {
        try requireOwnProcess()
        try lifecycle.require(.snapshot)
        let core = core
        if let snapshot = Snapshot(core.registry, pool: core.pool, at: number, isPinned: isPinned) { return snapshot }
        throw EngineError(
            .snapshotExpired,
            "The state after transaction \(number ?? latest) is no longer available; the oldest available state is that after \(core.registry.live[0]). "
                + "Retain more transactions, or pin those that will be needed.", path: path)
    }

    /// The reason why commits are refused until the store is opened again; nil if they are not.
    package var failure: EngineError? { lifecycle.refusal(of: .commit) }

    /// The transactions whose versions are live, in ascending order.
    package var retainedTransactions: [TransactionNumber] { core.registry.live }

    // MARK: Writing

    /// Waits for the writer's turn and starts a transaction.
    ///
    /// A shared store also waits for the turn of the process, and throws `busy` after the time limit.
    package func begin() throws(EngineError) -> WriteTransaction {
        try requireOwnProcess()
        guard let sharing else {
            guard readerPosition == nil else {
                throw EngineError(.readOnly, "The store was opened for reading only. Open it for writing to change it.", path: path)
            }
            return try beginInTurn()
        }
        try sharing.turn.enter()
        do throws(EngineError) {
            let transaction = try beginInTurn()
            transaction.user = TurnUser(sharing.turn)
            return transaction
        } catch {
            sharing.turn.exit()
            throw error
        }
    }

    /// Starts a transaction. The caller is a user of the turn of this process, if the store is shared.
    func beginInTurn() throws(EngineError) -> WriteTransaction {
        let core = core
        return WriteTransaction(engine: self, base: try core.pipeline.takeTurn(), pool: core.pool)
    }

    /// Waits until the transaction and all transactions before it are durable. Before that, a conflict with it must not be reported.
    package func waitUntilDurable(_ number: TransactionNumber) throws(EngineError) {
        try requireOwnProcess()
        try core.pipeline.waitUntilDurable(number)
    }

    func appendBlob(_ value: Bytes, tree: TreeID) throws(EngineError) -> PageReference {
        try requireOwnProcess()
        try core.requireStore()
        return unsafe try core.files.appendBlob(
            unsafe value.buffer, tree: tree, version: latest, to: core.blobs)
    }

    func abort(_ transaction: WriteTransaction) {
        // A forked child must not end the turn: a thread of the parent, which the child does not have, may hold the monitor's lock.
        guard forks == ProcessForks.count else { return }
        transaction.ledger.undo()
        transaction.earlyLeaves?.abandon()
        core.pipeline.endTurn()
    }

    func commit(
        _ transaction: WriteTransaction, _ durability: Durability, steps: CommitSteps = CommitSteps(),
        published: (@Sendable (TransactionNumber) -> Void)?, isUpkeep: Bool
    ) throws(EngineError) -> TransactionNumber {
        try requireOwnProcess()
        let durability = effective(durability)
        guard transaction.hasChanges else { return try endUnchanged(transaction, durability, steps, isUpkeep: isUpkeep) }
        do throws(EngineError) { try transaction.requireBounds() } catch {
            abort(transaction)
            throw error
        }
        startUpkeep()
        if durability == .full, !isUpkeep, let number = try commitLogFirst(transaction, steps: steps, published: published) {
            afterCommit(isBig: false, changedBytes: transaction.sharedBytes)
            return number
        }
        do throws(EngineError) { try transaction.finishChanges() } catch {
            abort(transaction)
            throw error
        }
        let version = transaction.makeVersion()
        let isBig = isBig(transaction)
        var changedBytes = 0
        do throws(EngineError) {
            if !transaction.ledger.newBlobs.isEmpty { try core.blobs.sync(.largeValues) }
            if isBig { try core.pipeline.drain() }
            try transaction.requireBounds()
            try core.pipeline.requireNewest(transaction.base)
            if !isUpkeep { try requireRoom(for: transaction, version) }
        } catch {
            abort(transaction)
            throw error
        }
        if isBig {
            try attach(transaction, version, published)
        } else {
            let (retired, born) = record(transaction)
            let needsNodes = transaction.redo.isOmitted || transaction.changesManyLeaves
            changedBytes = max(needsNodes ? born.count * transaction.pageSize : 0, transaction.sharedBytes)
            let round = try enqueue(
                CommitPipeline.Commit(
                    version: version, payload: transaction.redo.bytes, frees: isUpkeep || transaction.frees(version),
                    needsSync: durability == .full,
                    syncWithin: durability.delayNanoseconds, retired: retired, born: born, published: published,
                    earlier: transaction.ended),
                on: transaction.base)
            core.pipeline.endTurn()
            steps.executed()
            do throws(EngineError) {
                try core.pipeline.wait(for: version.number, round: round, needsSync: durability == .full, written: steps.written)
                steps.logged(true)
            } catch {
                steps.logged(false)
                if error.code == .full { freeSpace() }
                throw error
            }
        }
        if !isUpkeep { afterCommit(isBig: isBig, changedBytes: changedBytes) }
        return version.number
    }

    /// Ends a transaction without changes, and returns when the version that it read is as durable as its own changes would be. Until then that
    /// version may be undone, and with it the reason why nothing had to be changed.
    private func endUnchanged(
        _ transaction: WriteTransaction, _ durability: Durability, _ steps: CommitSteps, isUpkeep: Bool
    ) throws(EngineError) -> TransactionNumber {
        let base = transaction.base
        guard !isUpkeep else {
            abort(transaction)
            return base.number
        }
        let round: Int
        do throws(EngineError) { round = try core.pipeline.enter(on: base) } catch {
            abort(transaction)
            throw error
        }
        abort(transaction)
        steps.executed()
        try core.pipeline.wait(for: base.number, round: round, needsSync: durability == .full)
        return base.number
    }

    /// Queues an executed transaction. If that fails, undoes the transaction and ends its turn.
    private func enqueue(_ commit: CommitPipeline.Commit, on base: StoreVersion) throws(EngineError) -> Int {
        do throws(EngineError) { return try core.pipeline.enqueue(commit, on: base) } catch {
            core.pipeline.undo(retired: commit.retired, born: commit.born, above: base.number)
            core.pipeline.endTurn()
            throw error
        }
    }

    /// Records the nodes and blobs that an executed transaction replaced. The caller has the turn.
    func record(_ transaction: WriteTransaction) -> (retired: [RetiredFrame], born: [UInt32]) {
        let ledger = transaction.ledger
        assert(transaction.number > transaction.base.number, "A transaction follows its base.")
        core.space.recordChanges(
            transaction.number, deadPages: ledger.deadPages, deadBlobs: ledger.deadBlobs, newBlobs: ledger.newBlobs)
        let born = ledger.finish()
        checkpointer.recordInner(inner: ledger.bornInner)
        return (ledger.retired, born)
    }

    /// True if writing the nodes costs less than logging and replaying the redo.
    private func isBig(_ transaction: WriteTransaction) -> Bool {
        if transaction.redo.isAbandoned { return true }
        guard transaction.ended.isEmpty else { return false }
        let redo = transaction.redo.bytes.count
        return redo > options.attachThreshold && redo * 2 > transaction.ledger.born.count * transaction.pageSize
    }

    /// Commits a big transaction: writes its nodes, and then a log record with a reference to their catalogue. All earlier transactions are
    /// durable. The caller has the turn, which ends here.
    private func attach(
        _ transaction: WriteTransaction, _ version: StoreVersion,
        _ published: (@Sendable (TransactionNumber) -> Void)?
    ) throws(EngineError) {
        assert(transaction.ended.isEmpty, "A big transaction has a version of its own.")
        // Recorded first, because a checkpoint that ends meanwhile must also change the references in this transaction's nodes.
        let (retired, born) = record(transaction)
        let attachment: Checkpointer.Attachment
        var isCheckpoint = false
        defer { if isCheckpoint { core.pipeline.endCheckpoint() } }
        do throws(EngineError) {
            try core.pipeline.beginCheckpoint(hasTurn: true)
            isCheckpoint = true
            try transaction.earlyLeaves?.sync()
            attachment = try checkpointer.attach(version, writtenEarly: transaction.earlyLeaves?.pages ?? [])
        } catch {
            core.pipeline.undo(retired: retired, born: born, above: transaction.base.number)
            transaction.earlyLeaves?.abandon()
            core.pipeline.endTurn()
            throw error
        }
        let round: Int
        do throws(EngineError) {
            round = try enqueue(
                CommitPipeline.Commit(
                    version: version, payload: attachment.redo, frees: version.entries < transaction.base.entries, needsSync: true,
                    syncWithin: 0, retired: retired, born: born, published: published), on: transaction.base)
        } catch {
            transaction.earlyLeaves?.end()
            throw error
        }
        defer { core.pipeline.endTurn() }
        defer { transaction.earlyLeaves?.end() }
        try core.pipeline.wait(for: version.number, round: round, needsSync: true)
        assert(latest >= version.number, "A durable version is published.")
        checkpointer.finishAttachment(attachment, version.number)
    }

    // MARK: Closing

    /// Waits for running transactions, writes a last checkpoint unless the store is never opened again, and removes the log. Existing snapshots remain
    /// readable.
    ///
    /// The engine writes nothing after the call; later commits throw `closed`. A call while another thread closes the store waits until it is closed.
    /// Throws `durabilityLost`, and removes nothing, when the store's files were removed or replaced.
    package func close() throws(EngineError) {
        try requireOwnProcess()
        if let sharing { return try closeShared(sharing.turn) }
        endUpkeep()
        try closeWriter()
    }

    /// Closes an engine that has the writer's lock, and releases the lock. The background threads have ended.
    func closeWriter() throws(EngineError) {
        if let log = state.withLock({ $0.log }), lifecycle.allows(.checkpoint), needsLastCheckpoint {
            // A failure loses no data, and the last checkpoint follows.
            attempt { () throws(EngineError) in try reclaimSpaceBeforeClosing(log) }
        }
        guard lifecycle.close() else { return lifecycle.waitUntilReleased() }
        defer { lifecycle.release() }
        let (log, lock) = state.withLock { state in
            defer { (state.log, state.lock) = (nil, nil) }
            return (state.log, state.lock)
        }
        guard let log, let lock else { return }
        core.pipeline.endWriters()
        core.pipeline.endCheckpoints()
        defer {
            core.pipeline.close()
            log.close()
            lock.release()
        }
        do throws(EngineError) {
            try lifecycle.require(.lastCheckpoint)
            try log.requireStore()
        } catch {
            core.reserve.end(removes: false)
            throw error
        }
        core.reserve.end(removes: true)
        if needsLastCheckpoint { try checkpointer.run(log: log, isClosing: true) }
        try log.removeAll()
    }

    /// False if nothing was committed since the opening and the newest checkpoint needs no log, or if the store is never opened again.
    private var needsLastCheckpoint: Bool {
        let latest = checkpointer.latest
        // Compares the newest executed transaction, because the newest commit may not be in the log yet.
        return options.logsChanges && !(latest.isCleanlyClosed && core.pipeline.executed == latest.transaction)
    }
}
