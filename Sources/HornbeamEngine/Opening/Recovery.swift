// Opens a store at its newest durable version.
//
// Recovery starts at the newest state in `meta` with a readable catalogue, and applies the log after it in a transaction. If a process was
// killed or a sync failed, two parts of the store may be in the system's cache only:
// - The newest state of `meta`. Recovery writes and syncs it again. Meanwhile all files exist that the preceding state needs.
// - The end of the log. Recovery writes its changes as a checkpoint before the first new commit.
// Until that checkpoint writes `meta`, recovery changes no other existing file. So it can crash and start again.

/// One attempt to open a store.
struct Recovery {
    let path: String
    let fileSystem: any FileSystem
    let options: EngineOptions
    /// The turn of this process if several write the store; otherwise nil.
    var sharing: StoreSharing?

    func open() throws(EngineError) -> (Engine, LogWriter, any FileLock) {
        let new = try createIfMissing(log: options.log)
        let lock = try fileSystem.lock(metaPath, recordingHolderIn: lockPath)
        do throws(EngineError) {
            // The file may have been replaced between opening and locking it.
            try lock.verify()
            let (engine, log) = try openForWriting(lock, new)
            return (engine, log, lock)
        } catch {
            lock.release()
            throw error
        }
    }

    /// Creates the store if there is none and the options permit that; nil if there is one. With `log`, makes the log's first segment too.
    func createIfMissing(log: LogOptions? = nil) throws(EngineError) -> StoreCreation.NewStore? {
        guard options.pageSize >= 512, options.pageSize <= Page.sizeMax, options.pageSize & (options.pageSize - 1) == 0
        else {
            throw EngineError(.tooLarge, "A page of \(options.pageSize) bytes is not a power of two from 512 to 16384.")
        }
        try requireLocalDisk()
        if try fileSystem.exists(metaPath) { return nil }
        try fileSystem.requireFolderOrNothing(path)
        guard options.createIfMissing else {
            throw EngineError(.notAStore, "There is no store at this path.", path: path)
        }
        return try StoreCreation(path: path, fileSystem: fileSystem, pageSize: options.pageSize, log: log).run()
    }

    var metaPath: String { join(path, "meta") }
    var lockPath: String { join(path, "lock") }

    /// Network file systems do not guarantee the locks and syncs that a store needs.
    func requireLocalDisk() throws(EngineError) {
        guard !options.allowsNetworkFileSystem, let kind = fileSystem.networkFileSystem(of: path) else { return }
        throw EngineError(
            .inputOutput,
            "The store lies on a network file system (\(kind)), where locks and syncs are not reliable. Move it to "
                + "a local disk, or allow network file systems when opening, and then open it from one machine only.",
            path: path)
    }

    /// - Parameter new: The store, if this opening has created it.
    func openForWriting(_ lock: any FileLock, _ new: StoreCreation.NewStore?) throws(EngineError) -> (Engine, LogWriter) {
        let meta = try MetaFile.open(metaPath, fileSystem: fileSystem)
        // The opened file must be the locked one.
        try lock.verify()
        let states = meta.states
        // The store's name may not be durable: the process that created, copied or salvaged the store may have ended before. The first writer writes
        // the durable LSN hint only after this sync, so a hint proves that the name is durable.
        if new == nil, DurableLSNHint(lockPath, fileSystem: fileSystem, store: states[0].store).position == nil {
            try fileSystem.syncDirectory(parent(ofPath: path), .newStoreName)
        }
        return try withReadableState(states) { (i) throws(EngineError) in
            if i > 0 { _ = meta.discardNewest() }
            // No other process changes the folder now. It is listed for each state, since an attempt with the newer state may have changed it.
            let names = try fileSystem.list(path)
            let files = try PageFiles(
                directory: path, fileSystem: fileSystem, salt: states[i].salt, nextFile: states[i].nextPageFile,
                keepsFilesOpen: sharing != nil, listing: names)
            if sharing != nil { try files.openAllFiles() }
            let previous = i + 1 < states.count ? states[i + 1] : nil
            var opened = Opened(meta: meta, states: states, chosen: i, previous: previous, files: files, listing: names)
            if let header = new?.firstSegment { opened.takeFirstSegment(header, in: path, fileSystem) }
            return try openForWriting(opened, lock)
        }
    }

    /// Calls `body` with the index of each state, newest first, until it does not throw `damaged`, or `inputOutput` if the options accept damage.
    func withReadableState<R>(
        _ states: [MetaState], _ body: (Int) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        var firstError: EngineError?
        let first = options.startingPoint == .previousCheckpoint ? states.count - 1 : 0
        for i in first..<states.count {
            do throws(EngineError) { return try body(i) } catch {
                guard error.code == .damaged || options.startingPoint == .lastReadable && error.code == .inputOutput else { throw firstError ?? error }
                firstError = firstError ?? error
            }
        }
        throw firstError ?? EngineError(.damaged, "The meta file names no checkpoint.", path: metaPath)
    }

    /// The files and states from which an engine is made.
    struct Opened {
        let meta: MetaFile
        /// Newest first.
        let states: [MetaState]
        let chosen: Int
        let previous: MetaState?
        let files: PageFiles
        /// The names in the folder, if the store is opened for writing.
        var listing: [String]?
        /// The first segment of the log, if this opening has created the store. The listing does not contain it, since there is nothing to replay.
        var firstSegment: PreparedSegment?
        var state: MetaState { states[chosen] }

        /// Takes the segment that was made with the store. If another process has opened the store meanwhile, the segment is read like each other one.
        mutating func takeFirstSegment(_ header: LogSegmentHeader, in path: String, _ fileSystem: any FileSystem) {
            guard states.count == 1, state.log == .origin, state.transaction == .zero, let listing else { return }
            firstSegment = .openFirst(header, in: path, fileSystem: fileSystem, listing: listing)
            if firstSegment != nil { self.listing = listing.filter { $0 != header.number.fileName } }
        }
    }

    private func openForWriting(_ opened: Opened, _ lock: any FileLock) throws(EngineError) -> (Engine, LogWriter) {
        let engine = try makeEngine(opened, readerPosition: sharing == nil ? nil : ReaderPosition(opened.state), lock: lock)
        let state = opened.state
        let durableHint = DurableLSNHint(lockPath, fileSystem: fileSystem, store: state.store)
        let noted = durableHint.position ?? .zero
        let replayed = try replay(opened, engine, reaching: noted)
        engine.loss = replayed.loss
        var mark = replayed.end.mark
        // Numbering continues after the existing segments: the older state of `meta` may need old and new segments, without a gap.
        var next = replayed.end.lastSegment?.next ?? state.nextLogSegment
        if replayed.loss != nil { (mark, next) = try beyond(opened, mark, next, noted) }
        let reserve = engine.core.reserve
        reserve.recordExistingFile(opened.listing ?? [])
        var hasRecovered = false
        if isInDoubt(opened) { try confirm(opened.meta, reserve) }
        if replayed.end.lastSegment != nil || !state.isCleanlyClosed || replayed.loss != nil {
            engine.core.pipeline.setMark(mark)
            engine.checkpointer.setNextLogSegment(next)
            try checkpoint(engine, opened)
            hasRecovered = true
        }
        let log = try LogWriter(
            directory: path, fileSystem: fileSystem, store: state.store, continuing: mark, nextSegment: next,
            options: options.log, durableHint: durableHint, listing: opened.listing,
            prepared: opened.firstSegment, lock: lock, reserve: reserve)
        if hasRecovered, isShortOfSpace(reserve) { freeOldStates(engine, log) }
        return (engine, log)
    }

    /// Whether the newest state of `meta` may be in the system's cache only. If the log that leads from the previous state to it has been removed,
    /// it is durable, because the log is removed only after the sync.
    private func isInDoubt(_ opened: Opened) -> Bool {
        guard opened.chosen == 0, let previous = opened.previous else { return false }
        let hasLog = opened.listing?.contains { LogSegmentNumber(fileName: $0) != nil } ?? true
        return hasLog || previous.log == opened.state.log
    }

    /// Makes the newest state of `meta` durable. On a full disk, releases the reserve and tries again: copy-on-write file systems need space for
    /// overwriting too.
    private func confirm(_ meta: MetaFile, _ reserve: SpaceReserve) throws(EngineError) {
        do throws(EngineError) { return try meta.confirm() } catch {
            guard error.code == .full, reserve.release() else { throw error }
        }
        try meta.confirm()
    }

    /// An engine with the version of the chosen checkpoint, before replay.
    ///
    /// The number of its next checkpoint follows the newest one in `meta`, even if an older checkpoint was chosen.
    func makeEngine(_ opened: Opened, readerPosition: ReaderPosition? = nil, lock: (any FileLock)? = nil) throws(EngineError) -> Engine {
        var state = opened.state
        let (version, table) = try load(state.catalogue, state.fileTable, opened.files, pageSize: state.pageSize)
        guard version.number == state.transaction else {
            throw EngineError(
                .damaged, "The checkpoint is of transaction \(state.transaction), its catalogue of \(version.number).", path: metaPath)
        }
        let pool = try FramePool(
            pageSize: state.pageSize, bytes: options.poolBytes, ceiling: options.frameCeiling, files: opened.files)
        let core = EngineCore(
            pool: pool, files: opened.files, meta: opened.meta, first: version, mark: state.log, table: table,
            options: options, lock: lock, sharing: sharing)
        state.checkpoint = opened.states[0].checkpoint
        return Engine(
            path: path, parts: Engine.Parts(core, Checkpointer(core, latest: state, previous: opened.previous)),
            options: options, identifier: state.store, readerPosition: readerPosition, sharing: sharing)
    }

    private func load(
        _ catalogue: PageReference, _ fileTable: PageReference, _ files: PageFiles, pageSize: Int
    ) throws(EngineError) -> (StoreVersion, FileTable) {
        guard !catalogue.isEmpty else { return (.empty, FileTable()) }
        let version = try decodeRecord("catalogue", catalogue, files) { (bytes) throws(EngineError) in
            try Catalogue.decode(bytes, pageSize: pageSize)
        }
        return (version, try decodeRecord("file table", fileTable, files) { (bytes) throws(EngineError) in try FileTable.decode(bytes) })
    }

    /// Decodes a record. Its errors name the file and the offset of the record.
    private func decodeRecord<R>(
        _ name: String, _ reference: PageReference, _ files: PageFiles, _ decode: ([UInt8]) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        let bytes = try files.readBlob(reference)
        do throws(EngineError) { return try decode(bytes) } catch {
            throw EngineError(
                error.code,
                "The \(name) at offset \(reference.offset) of \(reference.file.fileName) is damaged: \(error.message) "
                    + "Restore the store from a backup.",
                path: files.path(of: reference.file))
        }
    }

    // MARK: Replay

    /// The result of a replay: the end of the log, and the lost transactions.
    struct Replayed {
        var end: LogEnd
        var loss: OpeningLoss?
    }

    /// Replays the log from an engine's checkpoint to the version that the options request.
    ///
    /// The log must reach the newest checkpoint, even if an older one was chosen, and `goal`, because all commits before were acknowledged. With
    /// `limit`, reading ends there, because a writer may be writing the bytes after it.
    func replay(
        _ opened: Opened, _ engine: Engine, reaching goal: LogPosition, upTo limit: LogPosition? = nil
    ) throws(EngineError) -> Replayed {
        var reason: EngineError?
        var end = LogEnd(mark: opened.state.log)
        if options.startingPoint != .previousCheckpoint {
            do throws(EngineError) {
                let goal = max(goal, opened.states[0].log.position)
                end = try replay(
                    from: opened.state, opened.state.log, engine, reaching: goal, upTo: limit.map { max($0, goal) },
                    listing: opened.listing)
            } catch {
                guard options.startingPoint == .lastReadable, [.damaged, .logDamaged, .inputOutput].contains(error.code) else {
                    throw error
                }
                // If a writer has recycled a segment meanwhile, this throws and the reader starts again. No transaction is lost in this case.
                try requireStateInMeta(opened.state)
                reason = error
            }
        }
        return Replayed(end: end, loss: loss(opened, engine, reason))
    }

    /// Replays the log from a mark to its end, or to `limit`.
    func replay(
        from state: MetaState, _ mark: LogMark, _ engine: Engine, reaching goal: LogPosition, upTo limit: LogPosition?,
        listing: [String]? = nil
    ) throws(EngineError) -> LogEnd {
        let reader = LogReader(directory: path, fileSystem: fileSystem, store: state.store, listing: listing)
        let replay = Replay(engine, publishesEach: options.startingPoint == .lastReadable)
        let readAhead = ReplayReadAhead(engine) { (body) throws(EngineError) in
            _ = unsafe try reader.replay(
                from: mark, oldest: state.oldestLogSegment, cleanlyClosed: state.isCleanlyClosed, upTo: limit
            ) { (number, payload, _) throws(EngineError) in try body(number, unsafe Bytes(payload)) }
        }
        defer { readAhead.stop() }
        let end = unsafe try reader.replay(
            from: mark, oldest: state.oldestLogSegment, cleanlyClosed: state.isCleanlyClosed,
            knownDurable: goal, upTo: limit
        ) { (number, payload, _) throws(EngineError) in
            defer { readAhead.advance(to: number, bytes: payload.count) }
            let bytes = unsafe Bytes(payload)
            if let (catalogue, fileTable) = try Redo.attached(bytes) {
                var (version, table) = try load(catalogue, fileTable, engine.core.files, pageSize: state.pageSize)
                // The table does not include the file in which it is stored, if that file is new.
                for file in try engine.core.files.filesOfBlob(fileTable) { table.entries[file, default: .init()].addBytes(0) }
                replay.finish()
                try engine.publishAttached(version, table, as: number)
            } else {
                try replay.apply(bytes, as: number)
            }
        }
        replay.finish()
        return end
    }
}

extension Engine {
    /// Publishes the version of a big transaction, which has written its pages and its catalogue itself.
    fileprivate func publishAttached(
        _ version: StoreVersion, _ table: FileTable, as number: TransactionNumber
    ) throws(EngineError) {
        guard version.number == number else {
            throw EngineError(.damaged, "The log attaches transaction \(number), the catalogue is of \(version.number).")
        }
        core.space.replaceTable(table, number, isCheckpoint: false)
        let previous = try core.pipeline.takeTurn()
        core.pipeline.publishReplayed(version, retired: checkpointer.abandonNodes(of: previous))
        core.pipeline.endTurn()
    }
}
