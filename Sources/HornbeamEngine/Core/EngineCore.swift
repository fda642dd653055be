// The parts of an open store that its commits and its checkpoints share.

import Synchronization

/// The parts that commits and checkpoints share.
final class EngineCore: Sendable {
    let pool: FramePool
    let files: PageFiles
    let registry: VersionRegistry
    let pipeline: CommitPipeline
    let meta: MetaFile
    let space: SpaceAccount
    /// The appender for blobs. They are written before the log refers to them.
    let blobs: PageAppender
    let reserve: SpaceReserve
    let room: DiskRoom
    /// Whether the store is open, has failed or is being closed.
    let lifecycle: Lifecycle
    /// The writer's lock of the store; nil in a reader.
    private let lock: (any FileLock)?
    /// The turn of this process if several write the store.
    private let sharing: StoreSharing?

    init(
        pool: FramePool, files: PageFiles, meta: MetaFile, first: StoreVersion, mark: LogMark, table: FileTable,
        options: EngineOptions, lock: (any FileLock)?, sharing: StoreSharing? = nil
    ) {
        self.lock = lock
        self.sharing = sharing
        self.pool = pool
        self.files = files
        self.meta = meta
        blobs = files.makeAppender()
        room = DiskRoom()
        lifecycle = sharing?.lifecycle ?? Lifecycle(path: files.directory)
        reserve = SpaceReserve(directory: files.directory, fileSystem: files.fileSystem, bytes: options.reserveSize, lock: lock, room: room)
        registry = VersionRegistry(pool: pool, retention: options.retention, first: first)
        let space = SpaceAccount(files: files, table: table, version: first.number, policy: options.spacePolicy)
        self.space = space
        pipeline = CommitPipeline(
            registry: registry, pool: pool, lifecycle: lifecycle, first: first, mark: mark, lag: { space.lag },
            undone: { space.undo(above: $0) })
    }

    /// Throws `durabilityLost` if the store's files were removed or replaced. Then the engine must not write or remove files by path.
    func requireStore() throws(EngineError) { try lock?.verify() }

    /// Whether the checkpoint in progress may be throttled: no thread and no other process waits for it, and it keeps up with the commits.
    var isCheckpointThrottled: Bool { !pipeline.isCheckpointAwaited && !isTurnRequested && space.mayThrottle }

    /// True if another process waits for the turn of this one, so that upkeep ends early.
    var isTurnRequested: Bool { sharing?.turn.isRequested ?? false }
}
