// Opening a store: from the meta file to the newest durable version.
//
// The newest meta slot whose catalogue can be read is the start; the log behind it is replayed through ordinary
// transactions. After an unclean end everything recovered is written as a checkpoint before the first new commit is
// accepted, so that pages which only the system's cache held are not mistaken for durable. Until that checkpoint's
// meta write nothing that exists is changed, so recovery can crash and start again.

/// One attempt to open a store.
struct Recovery {
    let path: String
    let fileSystem: any FileSystem
    let options: EngineOptions

    func open() throws(EngineError) -> (Engine, LogWriter, any FileLock) {
        guard options.pageSize >= 512, options.pageSize <= Page.sizeMax, options.pageSize & (options.pageSize - 1) == 0
        else {
            throw EngineError(.tooLarge, "A page of \(options.pageSize) bytes is not a power of two from 512 to 16384.")
        }
        if try !fileSystem.exists(path + "/meta") {
            guard options.createIfMissing else {
                throw EngineError(.notAStore, "There is no store at this path.", path: path)
            }
            try StoreCreation(path: path, fileSystem: fileSystem, pageSize: options.pageSize).run()
        }
        let lock = try fileSystem.lock(path + "/lock")
        do throws(EngineError) {
            let (engine, log) = try openNewest()
            return (engine, log, lock)
        } catch {
            lock.release()
            throw error
        }
    }

    private func openNewest() throws(EngineError) -> (Engine, LogWriter) {
        let meta = try MetaFile.open(path + "/meta", fileSystem: fileSystem)
        let states = meta.states
        var firstError: EngineError?
        for (i, state) in states.enumerated() {
            if i > 0 { _ = meta.disregardNewest() }
            do throws(EngineError) {
                let previous = i + 1 < states.count ? states[i + 1] : nil
                return try open(meta, state, previous: previous, reaching: states[0].log.position)
            } catch {
                guard error.code == .damaged else { throw firstError ?? error }
                firstError = firstError ?? error
            }
        }
        throw firstError ?? EngineError(.damaged, "The meta file names no checkpoint.", path: path + "/meta")
    }

    /// From a state of the meta file. An older one will do only if the log leads from it to where the newest one was
    /// taken: what lies between was acknowledged.
    private func open(
        _ meta: MetaFile, _ state: MetaState, previous: MetaState?, reaching goal: LogPosition
    ) throws(EngineError) -> (Engine, LogWriter) {
        let files = try PageFiles(
            directory: path, fileSystem: fileSystem, salt: state.salt, nextFile: state.nextPageFile)
        let (version, table) = try load(state.catalogue, state.fileTable, files, pageSize: state.pageSize)
        let pool = try FramePool(
            pageSize: state.pageSize, bytes: options.poolBytes, ceiling: options.frameCeiling, files: files)
        let core = EngineCore(pool: pool, files: files, meta: meta, first: version, mark: state.log, table: table,
            options: options)
        let checkpointer = Checkpointer(core, latest: state, previous: previous)
        let engine = Engine(
            path: path, core: core, checkpointer: checkpointer, options: options, identifier: state.store)
        let counter = DurableCounter(path + "/lock", fileSystem: fileSystem, store: state.store)
        let end = try replay(state, engine, reaching: max(goal, counter.position))
        var next = state.nextLogSegment
        if let last = end.lastSegment, last >= next { next = last.next }
        if end.lastSegment != nil || !state.isCleanlyClosed {
            core.pipeline.setMark(end.mark)
            checkpointer.setNextLogSegment(next)
            try checkpointer.run(log: nil, isForced: true)
        }
        let log = try LogWriter(
            directory: path, fileSystem: fileSystem, store: state.store, continuing: end.mark, nextSegment: next,
            options: options.log, counter: counter)
        return (engine, log)
    }

    private func load(
        _ catalogue: PageReference, _ fileTable: PageReference, _ files: PageFiles, pageSize: Int
    ) throws(EngineError) -> (StoreVersion, FileTable) {
        guard !catalogue.isEmpty else { return (.empty, FileTable()) }
        let version = try Catalogue.decode(try files.readBlob(catalogue), pageSize: pageSize)
        return (version, try FileTable.decode(try files.readBlob(fileTable)))
    }

    // MARK: Replay

    private func replay(
        _ state: MetaState, _ engine: Engine, reaching goal: LogPosition
    ) throws(EngineError) -> LogEnd {
        let reader = LogReader(directory: path, fileSystem: fileSystem, store: state.store)
        return unsafe try reader.replay(
            from: state.log, oldest: state.oldestLogSegment, cleanlyClosed: state.isCleanlyClosed,
            vouched: goal
        ) { (number, payload, _) throws(EngineError) in
            let bytes = unsafe Bytes(payload)
            if let (catalogue, fileTable) = try Redo.attached(bytes) {
                let (version, table) = try load(catalogue, fileTable, engine.core.files, pageSize: state.pageSize)
                try engine.adopt(version, table, as: number)
            } else {
                try engine.replay(bytes, as: number)
            }
        }
    }
}

extension Engine {
    /// Applies a logged transaction to the newest version.
    fileprivate func replay(_ payload: Bytes, as number: TransactionNumber) throws(EngineError) {
        let base = try core.pipeline.takeTurn()
        let transaction = WriteTransaction(engine: self, base: base, pool: core.pool)
        guard transaction.number == number else {
            throw EngineError(.damaged, "The log holds transaction \(number) where \(transaction.number) should follow.")
        }
        transaction.redo.abandon()
        try transaction.replay(payload)
        let version = transaction.makeVersion()
        let (retired, _) = record(transaction)
        core.pipeline.adopt(version, retired: retired)
        transaction.finishReplay()
        core.pipeline.endTurn()
    }

    /// Takes over a version that a big transaction wrote as a checkpoint.
    fileprivate func adopt(
        _ version: StoreVersion, _ table: FileTable, as number: TransactionNumber
    ) throws(EngineError) {
        guard version.number == number else {
            throw EngineError(.damaged, "The log attaches transaction \(number), the catalogue is of \(version.number).")
        }
        core.space.adopt(table, number, isCheckpoint: false)
        let previous = try core.pipeline.takeTurn()
        core.pipeline.adopt(version, retired: checkpointer.abandonNodes(of: previous))
        core.pipeline.endTurn()
    }
}

/// Making a new store: complete under another name first, so that no crash leaves half of one.
struct StoreCreation {
    let path: String
    let fileSystem: any FileSystem
    let pageSize: Int

    func run() throws(EngineError) {
        if try fileSystem.exists(path), try !fileSystem.list(path).isEmpty {
            throw EngineError(
                .notAStore, "The folder holds files but no store; choose another path for a new store.", path: path)
        }
        let draft = path + ".new-" + String(UInt64.random(in: 0 ... .max), radix: 16)
        try fileSystem.createDirectory(draft)
        do throws(EngineError) {
            let store = StoreIdentifier.random()
            let state = MetaState(
                store: store, salt: .random(in: 1 ... .max), pageSize: pageSize, checkpoint: 1, log: .origin,
                transaction: .zero, nextObjectKey: 1, catalogue: .empty, fileTable: .empty,
                oldestLogSegment: LogSegmentNumber(1), nextLogSegment: LogSegmentNumber(1),
                nextPageFile: PageFileNumber(1), isCleanlyClosed: true)
            try MetaFile.create(draft + "/meta", fileSystem: fileSystem, state: state).close()
            try fileSystem.syncDirectory(draft)
            if try fileSystem.exists(path) { try fileSystem.remove(path) }
            try fileSystem.rename(draft, to: path)
        } catch {
            try? fileSystem.remove(draft + "/meta")
            try? fileSystem.remove(draft)
            throw error
        }
        try fileSystem.syncDirectory(parent)
    }

    private var parent: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
