// Opens a store, and refreshes an engine that was opened for reading.

import HornbeamThreads

extension Engine {
    /// Opens the store at a path, with recovery after a crash; creates it if the options permit that.
    ///
    /// Opened for reading, it shows the newest durable state, while another process may write; `refresh()` moves to a newer one.
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
    /// Existing snapshots do not change. Costs a read of `meta` when nothing is new. A writing engine is always at the newest state.
    package func refresh() throws(EngineError) -> Bool {
        try requireOwnProcess()
        guard let readerPosition else { return false }
        try lifecycle.require(.snapshot)
        return try readerPosition.refresh(self)
    }

    /// The parameters of the opening, to open the store again or to read its files.
    var recovery: Recovery { Recovery(path: path, fileSystem: core.files.fileSystem, options: options) }
}
