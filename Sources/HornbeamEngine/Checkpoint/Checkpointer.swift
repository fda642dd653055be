// Writes the newest durable version from memory to the page files, and releases the files that are no longer needed.
//
// Steps: append and sync nodes, catalogue and file table; rewrite and sync the older slot of `meta`; change references in memory to disk
// addresses; remove log segments and page files that neither this checkpoint nor the previous one needs.
// A failure before the write of `meta` changes nothing.

import HornbeamThreads
import Synchronization

final class Checkpointer: Sendable {
    private let engine: EngineCore
    private let appender: PageAppender
    private let state: Guarded<State>

    private struct State {
        // The newest checkpoint, and the preceding one.
        var latest: MetaState
        var previous: MetaState?
        /// Inner nodes that transactions have made since the last checkpoint. Their links may refer to written children by frame.
        var inner: [(frame: UInt32, generation: UInt32)] = []
        var checkpoints = 0
        var bytesWritten: UInt64 = 0
    }

    init(_ engine: EngineCore, latest: MetaState, previous: MetaState?) {
        self.engine = engine
        appender = engine.files.makeAppender()
        state = Guarded(State(latest: latest, previous: previous))
    }

    var latest: MetaState { state.withLock { $0.latest } }
    /// The newest transaction in the preceding checkpoint.
    var previousTransaction: TransactionNumber { state.withLock { $0.previous?.transaction ?? .zero } }
    var statistics: (checkpoints: Int, bytesWritten: UInt64) { state.withLock { ($0.checkpoints, $0.bytesWritten) } }

    /// Sets the number of the next log segment. Recovery calls it, because it has read the used numbers.
    func setNextLogSegment(_ number: LogSegmentNumber) { state.withLock { $0.latest.nextLogSegment = number } }

    /// Records inner nodes that a transaction made.
    func recordInner(inner frames: [UInt32]) {
        if frames.isEmpty { return }
        let pool = engine.pool
        state.withLock { state in
            for frame in frames { state.inner.append((frame, pool.generation(frame))) }
        }
    }

    /// Returns the nodes of a replayed version as retired frames. Called when replay continues with the version of a big transaction, which is on
    /// disk and shares no frames with it.
    func abandonNodes(of version: StoreVersion) -> [RetiredFrame] {
        state.withLock { $0.inner.removeAll() }
        var nodes: [RetiredFrame] = []
        for tree in version.trees { collectNew(tree.root, &nodes) }
        return nodes
    }

    private func collectNew(_ reference: PageReference, _ nodes: inout [RetiredFrame]) {
        guard reference.isInMemory else { return }
        let frame = reference.frame
        nodes.append(
            RetiredFrame(
                node: frame, generation: engine.pool.generation(frame),
                birth: unsafe engine.pool.infos[Int(frame)].birth))
        guard engine.pool.page(frame).level > 0 else { return }
        let node = SlottedNode(engine.pool.page(frame))
        for i in 0..<node.count { collectNew(node.child(i), &nodes) }
    }

    // MARK: The checkpoint

    /// Writes a checkpoint of the newest durable version. `isClosing`: the last checkpoint before closing, which marks the store as cleanly
    /// closed. `isForced`: writes one even if nothing has changed. `isAwaited`: a thread waits, so several threads pack the pages. `continuesFile`: appends
    /// to the file of the checkpoint before, if it has room.
    ///
    /// Throws `closed` when the store was closed meanwhile, and the failure of a store that has failed.
    func run(
        log: LogWriter?, isClosing: Bool = false, isForced: Bool = false, isAwaited: Bool = false, isThrottled: Bool = false, continuesFile: Bool = false
    ) throws(EngineError) {
        if isClosing { try engine.lifecycle.require(.lastCheckpoint) } else { try engine.pipeline.beginCheckpoint(hasTurn: false) }
        defer { if !isClosing { engine.pipeline.endCheckpoint() } }
        if log != nil { try engine.pipeline.drain() }
        let (version, mark) = try engine.pipeline.durablePoint()
        defer { engine.registry.release(version.number) }
        let before = state.withLock { $0 }
        guard before.latest.checkpoint + 1 < StoreLimits.numberMax else {
            throw EngineError(.full, "All numbers of checkpoints are used up. Copy the store's content to a new one.", path: engine.files.directory)
        }
        if !isClosing, !isForced, version.number == before.latest.transaction, mark == before.latest.log { return }
        try engine.requireStore()
        if !continuesFile { try appender.seal() }
        // During recovery (`log` is nil) and closing, no other thread commits, so all processors are free.
        let image = try write(version, isAwaited: isAwaited || isClosing || log == nil, isThrottled: isThrottled)
        var meta = before.latest
        meta.checkpoint += 1
        meta.log = mark
        meta.transaction = version.number
        meta.nextObjectKey = version.nextObjectKey
        meta.catalogue = image.catalogue
        meta.fileTable = image.fileTable
        meta.hasInsertBuffers = version.trees.contains { $0.insertBuffer != nil }
        meta.oldestLogSegment =
            isClosing || log == nil
            ? log?.nextSegment ?? before.latest.nextLogSegment : log!.segment(holding: mark.position)
        meta.nextPageFile = engine.files.nextFile
        meta.nextLogSegment = log?.nextSegment ?? before.latest.nextLogSegment
        meta.isCleanlyClosed = isClosing || !(log?.hasGroups(before: mark.position) ?? false)
        assert(meta.transaction >= before.latest.transaction, "A checkpoint is never older than the one before.")
        assert(meta.log.position >= before.latest.log.position, "A checkpoint never moves back in the log.")
        assert(meta.oldestLogSegment <= meta.nextLogSegment, "The oldest segment is not newer than the next.")
        if let log { try log.requireStore() } else { try engine.requireStore() }
        try engine.meta.write(meta)
        engine.space.replaceTable(image.table, version.number, isCheckpoint: true)
        state.withLock { state in
            assert(meta.checkpoint == state.latest.checkpoint + 1, "One checkpoint runs at a time.")
            assert(meta.nextPageFile >= state.latest.nextPageFile, "Numbers of page files are not used again.")
            state.previous = state.latest
            state.latest = meta
            state.checkpoints += 1
        }
        // The next steps write and unlink files by path, and the write of `meta` may have taken long.
        try engine.requireStore()
        log?.restoreDurableHint()
        try releaseUnneeded(image, log, isThrottled: isThrottled)
    }

    /// The output of a checkpoint in the page files.
    fileprivate struct Image {
        var catalogue: PageReference
        var fileTable: PageReference
        var table: FileTable
        var written: [UInt32: PageReference]
        var roots: Set<UInt32>
    }

    /// Writes the nodes of a version, its catalogue and the file table, and syncs them. Tries once more after a failed write or sync. On a full
    /// disk, releases recycled log segments and then the reserve, and tries again.
    private func write(
        _ version: StoreVersion, writtenEarly: [PageReference] = [], isAwaited: Bool, isThrottled: Bool = false
    ) throws(EngineError) -> Image {
        let threads = isAwaited ? min(Cores.count, 4) : 1
        let pipeline = engine.pipeline
        appender.setThrottle(!isThrottled ? nil : { @Sendable [engine] in engine.isCheckpointThrottled })
        var hasFailed = false
        while true {
            do throws(EngineError) { return try writeOnce(version, writtenEarly, threads: threads) } catch {
                appender.abandon()
                switch error.code {
                case .full where pipeline.releaseRecycledSegments() || engine.reserve.release(): continue
                case .inputOutput where !hasFailed: hasFailed = true
                default: throw error
                }
            }
        }
    }

    private func writeOnce(
        _ version: StoreVersion, _ writtenEarly: [PageReference], threads: Int
    ) throws(EngineError) -> Image {
        appender.limitFiles(toBytes: engine.space.policy.fileSizeLimit(live: engine.space.table.liveBytes))
        let start = appender.bytesAppended
        let writer = TreeWriter(pool: engine.pool, appender: appender, version: version.number, threads: threads)
        var roots: [PageReference] = []
        for tree in version.trees { roots.append(try writer.write(tree)) }
        let catalogue = try append(Catalogue.encode(version, roots: roots), version.number)
        let table = try engine.space.table(at: version.number, written: writer.written.values + writtenEarly)
        let fileTable = try append(table.encode(), version.number)
        try appender.sync()
        assert(roots.allSatisfy { !$0.isInMemory }, "A catalogue names pages on disk.")
        state.withLock { $0.bytesWritten += appender.bytesAppended - start }
        return Image(
            catalogue: catalogue, fileTable: fileTable, table: table, written: writer.written,
            roots: Set(version.trees.filter(\.root.isInMemory).map(\.root.frame)))
    }

    private func append(_ bytes: [UInt8], _ version: TransactionNumber) throws(EngineError) -> PageReference {
        try bytes.withBorrowedBytes { raw throws(EngineError) in
            unsafe try engine.files.appendBlob(unsafe raw.buffer, tree: TreeID(0), version: version, to: appender)
        }
    }

    /// Ends the current page files before another process writes. So no record is appended to a file that the process has found unneeded.
    func sealFiles() throws(EngineError) {
        try appender.seal()
        try engine.blobs.seal()
    }

    // MARK: Committing a big transaction

    /// Writes and syncs the nodes of an executed version and its catalogue, so that a log record only needs to refer to them. The caller has the
    /// writer's turn. It calls `finishAttachment` when that record is durable. `writtenEarly`: pages of the version that are durable already.
    func attach(_ version: StoreVersion, writtenEarly: [PageReference]) throws(EngineError) -> Attachment {
        try appender.seal()
        let image = try write(version, writtenEarly: writtenEarly, isAwaited: true)
        // The log may refuse the record. Then no checkpoint adds live pages to the file.
        try appender.seal()
        assert(!image.catalogue.isInMemory && !image.catalogue.isEmpty, "The log names a catalogue in the page files.")
        return Attachment(image: image)
    }

    /// A version in the page files, for which there may be no log record yet.
    struct Attachment {
        fileprivate let image: Image
        /// The redo record with references to the catalogue and the file table.
        var redo: [UInt8] { Redo.attach(image.catalogue, image.fileTable) }
    }

    /// Completes the attachment after the log is durable.
    func finishAttachment(_ attachment: Attachment, _ version: TransactionNumber) {
        engine.space.replaceTable(attachment.image.table, version, isCheckpoint: false)
        finalize(attachment.image)
    }

    // MARK: Afterwards

    /// Changes references in memory from frames to the written pages. No transaction runs meanwhile.
    private func finalize(_ image: Image) {
        let pool = engine.pool
        var deaths: [(PageReference, UInt64)] = []
        for (frame, page) in image.written {
            pool.markWritten(frame, address: page.address, stamp: page.stamp, isPinned: true)
            let death = unsafe pool.infos[Int(frame)].death
            if death != .max { deaths.append((page, death)) }
        }
        for (page, death) in deaths {
            engine.space.recordChanges(TransactionNumber(death), deadPages: [page], deadBlobs: [], newBlobs: [])
        }
        let inner = state.withLock { state in
            defer { state.inner.removeAll() }
            return state.inner
        }
        assert(image.written.values.allSatisfy { !$0.isInMemory }, "Written nodes lie in page files.")
        let kept = redirect(inner)
        state.withLock { $0.inner += kept }
        pool.unpin(image.written.keys.filter { !image.roots.contains($0) })
        pool.trim()
    }

    /// Replaces frames by disk addresses in the links of several nodes. Returns the nodes with children that are still in memory only.
    private func redirect(_ nodes: [(frame: UInt32, generation: UInt32)]) -> [(frame: UInt32, generation: UInt32)] {
        let pool = engine.pool
        let slot = pool.epochs.enter()
        defer { pool.epochs.leave(slot) }
        return nodes.filter { node in pool.generation(node.frame) == node.generation && redirect(node.frame) }
    }

    /// Replaces frames by disk addresses in the links of a node. True if some children are still in memory only.
    private func redirect(_ frame: UInt32) -> Bool {
        let page = engine.pool.page(frame)
        guard page.kind == NodeKind.inner.rawValue else { return false }
        let node = SlottedNode(page)
        var hasNewChildren = false
        for i in 0..<node.count {
            let child = node.child(i)
            guard child.isInMemory else { continue }
            engine.pool.epochs.point("a link that is about to name a page file")
            if let disk = engine.pool.diskReference(child.frame) {
                node.setWritten(i, address: disk.address, stamp: disk.stamp)
                unsafe node.hintCell(i).pointee.store(child.frame, ordering: .relaxed)
            } else {
                hasNewChildren = true
            }
        }
        return hasNewChildren
    }

    /// Changes references in memory, and removes the log segments and page files that neither of the two checkpoints needs.
    private func releaseUnneeded(_ image: Image, _ log: LogWriter?, isThrottled: Bool) throws(EngineError) {
        nonisolated(unsafe) var removable: Result<[PageFileNumber], EngineError> = .success([])  // one thread at a time
        engine.pipeline.withoutWriters { [self] in
            finalize(image)
            do throws(EngineError) { unsafe removable = .success(try removableFiles()) } catch {
                unsafe removable = .failure(error)
            }
        }
        let oldest = state.withLock { min($0.latest.oldestLogSegment, $0.previous?.oldestLogSegment ?? $0.latest.oldestLogSegment) }
        let mayThrottle = { [engine] in isThrottled && engine.isCheckpointThrottled }
        try log?.removeSegments(before: oldest, mayThrottle: mayThrottle)
        log?.setSegmentBytesGoal(engine.space.segmentBytes)
        for file in try unsafe removable.get() {
            try engine.files.remove(file, mayThrottle: mayThrottle)
            engine.space.forget(file)
        }
    }

    /// The page files that no reader, no log record and neither of the two checkpoints needs. No transaction runs meanwhile. Closes the current
    /// file of blobs, so that no blob is appended to a file of the result.
    private func removableFiles() throws(EngineError) -> [PageFileNumber] {
        try engine.blobs.seal()
        let (latest, previous) = state.withLock { ($0.latest, $0.previous) }
        return engine.space.unneededFiles(
            horizon: previous?.transaction ?? .zero, readers: engine.registry.live,
            needed: try needed(by: [latest, previous ?? latest]))
    }

    private func needed(by states: [MetaState]) throws(EngineError) -> Set<PageFileNumber> {
        var needed = try engine.space.filesOfNewBlobs().union(engine.space.filesOfTransaction)
        for meta in states where !meta.catalogue.isEmpty {
            needed.formUnion(try engine.files.filesOfBlob(meta.catalogue))
            needed.formUnion(try engine.files.filesOfBlob(meta.fileTable))
        }
        return needed
    }

    /// The size of the page files that only the preceding checkpoint needs.
    func bytesNeededOnlyByPrevious() throws(EngineError) -> Int {
        let latest = latest
        let files = engine.space.unneededFiles(
            horizon: latest.transaction, readers: engine.registry.live, needed: try needed(by: [latest]))
        let kept = Set(files)
        return try engine.files.files().reduce(0) { $0 + (kept.contains($1.number) ? Int($1.bytes) : 0) }
    }
}
