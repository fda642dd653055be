internal import Foundation
internal import HornbeamEngine
package import HornbeamModel

extension Store {
    /// Opens a store, or creates one.
    ///
    /// - Parameter model: The model of the objects. With nil, the store is opened with its stored model; tools use this.
    /// - Throws: `HornbeamError`: `modelMismatch` with every difference when the store was created with another model;
    ///   `notAStore`, `newerFormat`, `storeInUse`, `busy`, `damaged` and others for faults of the files.
    package static func open(
        _ location: Location, model: ManagedObjectModel?, options: Options = Options()
    ) throws -> Store {
        let memory = MemoryLocation(location)
        let engine = try EngineError.translated { () throws(EngineError) in
            try openEngine(location, memory, options)
        }
        do {
            return try open(engine, location, model, options, memory)
        } catch {
            // The error of opening is thrown. An error of closing is ignored.
            try? engine.close()
            throw (error as? EngineError).map { HornbeamError($0) } ?? error
        }
    }

    private static func openEngine(
        _ location: Location, _ memory: MemoryLocation?, _ options: Options
    ) throws(EngineError) -> Engine {
        switch location {
        case .directory(let path):
            return try Engine.open(path, fileSystem: options.fileSystem ?? PosixFileSystem(), options: options.engineOptions)
        case .memory(let name):
            let system: any FileSystem = options.fileSystem ?? memory?.fileSystem ?? MemoryFileSystem.named(name)
            var engineOptions = options.engineOptions
            // A store in memory belongs to one process.
            if options.fileSystem == nil { engineOptions.isShared = false }
            return try Engine.open("memory.hornbeam", fileSystem: system, options: engineOptions)
        }
    }

    private static func open(
        _ engine: Engine, _ location: Location, _ model: ManagedObjectModel?, _ options: Options,
        _ memory: MemoryLocation?
    ) throws -> Store {
        let holdsTurn = try writes(engine, model, options)
        if holdsTurn { try EngineError.translated { () throws(EngineError) in try engine.holdTurn() } }
        defer { if holdsTurn { engine.releaseTurn() } }
        if !options.readOnly { try PendingMigration.clear(engine) }
        let stored = try StoredSchema(engine.snapshot(), location.description, expecting: model) ?? create(engine, location, model, options)
        let model = try stored.reconciled(with: model, in: engine, options, location)
        let snapshot = try engine.snapshot()
        // The cache of a querying store has no fetch indexes: they would cost time for each returned row, and only requests that the store cannot
        // answer use them.
        let schema = try Schema(model.catalogue, model: model.model, findsByIndexes: options.backing?.querying == nil) { snapshot.tree(named: $0) }
        try schema.checkTables(in: snapshot)
        let identifier = options.backing?.custom.identifier ?? UUID(engine.storeIdentifier)
        let origins = StoreIdentities(identifier: identifier, model: model.model, catalogue: model.catalogue)
        let reader = RowReader(schema: schema, origins: origins, hasAllRows: options.backing == nil)
        let store = Store(
            location: location, identifier: identifier, engine: engine, reader: reader, options: options,
            metadata: try snapshot.metadata(), storedCatalogue: try snapshot.value(StoredValue.catalogue),
            openedTransaction: snapshot.transaction.rawValue, history: try HistoryLog.prepared(engine, options, reader), memory: memory)
        try store.loadPreparedPart()
        store.followOtherProcesses()
        return store
    }

    /// True if opening a shared store may write to it. Then the process keeps the turn until the store is open; otherwise the opening waits for no
    /// other process.
    private static func writes(_ engine: Engine, _ model: ManagedObjectModel?, _ options: Options) throws -> Bool {
        guard engine.isShared else { return false }
        let snapshot = try engine.snapshot()
        guard try snapshot.value(StoredValue.catalogue) != nil, let bytes = try snapshot.value(StoredValue.model) else { return true }
        let isStored = try model?.isStored(as: bytes) ?? true
        let hasHistory = snapshot.tree(named: HistoryKey.treeName) != nil
        let keepsHistory = options.keepsStoredHistory || hasHistory || options.history == nil
        let isUnfinished = try [PendingMigration.valueName, StoredValue.preparedPart].contains { try snapshot.value($0) != nil }
        return !isStored || !keepsHistory || isUnfinished
    }

    /// Writes the catalogue and the empty trees of a new store.
    private static func create(
        _ engine: Engine, _ location: Location, _ model: ManagedObjectModel?, _ options: Options
    ) throws -> StoredSchema {
        guard let model, !options.readOnly else {
            throw HornbeamError(
                .notAStore, "“\(location)” contains no model yet, so it cannot be opened without one. Open it for writing with a model.")
        }
        let stored = StoredSchema(catalogue: Catalogue(model: model), model: model, modelBytes: try model.encoded())
        let transaction = try engine.begin()
        for (name, layout) in stored.catalogue.tables { _ = try transaction.createTable(named: name, layout: layout) }
        for name in stored.catalogue.indexTrees { _ = try transaction.createIndex(named: name) }
        try stored.write(to: transaction)
        if options.history != nil { _ = try transaction.createIndex(named: HistoryKey.treeName) }
        _ = try transaction.commit(.full)
        return stored
    }
}

extension UUID {
    /// The engine's sixteen bytes with the version bits of a random UUID.
    init(_ identifier: StoreIdentifier) {
        var bytes = [UInt8]()
        KeyBytes.append(identifier.high, to: &bytes)
        KeyBytes.append(identifier.low, to: &bytes)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        self = unsafe bytes.withUnsafeBytes { unsafe UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
