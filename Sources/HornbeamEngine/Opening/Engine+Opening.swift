// Opening a store, and moving one that is open for reading to a newer state.

import HornbeamThreads

extension Engine {
    /// Opens the store at a path, recovering what a crash left; creates it if that is allowed.
    ///
    /// Opened for reading, it shows the newest durable state, which another process may go on from; `refresh()` follows.
    /// Throws `notAStore`, `newerFormat`, `damaged`, `logDamaged`, `storeInUse`, `readOnly`, `full`, `inputOutput`.
    package static func open(
        _ path: String, fileSystem: any FileSystem = PosixFileSystem(), options: EngineOptions = EngineOptions()
    ) throws(EngineError) -> Engine {
        let recovery = Recovery(path: path, fileSystem: fileSystem, options: options)
        if options.isReadOnly { return try recovery.openForReading() }
        let (engine, log, lock) = try recovery.open()
        engine.start(log, lock)
        if let loss = engine.loss { try engine.skipLostKeys(loss) }
        return engine
    }

    /// Moves an engine that was opened for reading to the newest durable state; true if there is a newer one.
    ///
    /// Snapshots stay what they are. Costs a read of `meta` when nothing is new. A writing engine is always at the newest.
    package func refresh() throws(EngineError) -> Bool {
        try requireOwnProcess()
        guard let follower else { return false }
        if state.withLock({ $0.isClosed }) { throw EngineError(.closed, "The store is closed.", path: path) }
        return try follower.refresh(self)
    }

    /// How the store was opened, to open it or look at its files once more.
    var recovery: Recovery { Recovery(path: path, fileSystem: core.files.fileSystem, options: options) }
}
