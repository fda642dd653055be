// Opens a store, and refreshes an engine that was opened for reading.

import HornbeamThreads

extension Engine {
    /// Opens the store at a path, with recovery after a crash. Creates the store if there is none and the options permit that.
    ///
    /// An engine for reading reads the newest durable version; another process may write meanwhile. `refresh()` changes to a newer version.
    /// Throws `notAStore`, `newerFormat`, `damaged`, `logDamaged`, `storeInUse`, `busy`, `readOnly`, `full`, `inputOutput`.
    package static func open(
        _ path: String, fileSystem: any FileSystem = PosixFileSystem(), options: EngineOptions = EngineOptions()
    ) throws(EngineError) -> Engine {
        let recovery = Recovery(path: path, fileSystem: fileSystem, options: options)
        if options.isReadOnly { return try recovery.openForReading() }
        if options.isShared, options.startingPoint == .newest { return try recovery.openShared() }
        let (engine, log, lock) = try recovery.open()
        engine.start(log, lock)
        if let loss = engine.loss { try engine.skipLostKeys(loss) }
        return engine
    }

    /// Changes an engine that was opened for reading, or beside other processes, to the newest durable version. True if there is a newer one.
    ///
    /// Existing snapshots do not change. Reads only `meta` and `lock` if there is no newer version. A writing engine always has the newest version.
    package func refresh() throws(EngineError) -> Bool {
        try requireOwnProcess()
        guard let readerPosition else { return false }
        // After a failure the store shows its last state: the outcome of its last commits is not known.
        if sharing != nil, failure != nil { return false }
        try lifecycle.require(.snapshot)
        return try readerPosition.refresh(self)
    }

    /// The parameters of the opening, to open the store again or to read its files.
    var recovery: Recovery { Recovery(path: path, fileSystem: core.files.fileSystem, options: options, sharing: sharing) }
}
