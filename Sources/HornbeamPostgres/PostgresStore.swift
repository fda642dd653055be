#if Postgres
public import Foundation
public import HornbeamModel
internal import HornbeamThreads

/// A store whose rows are in tables of a PostgreSQL database.
///
/// The server answers fetches and counts whose conditions and orders have exactly the same meaning in SQL. For other requests it returns more
/// rows, of which Hornbeam finds the results. Open it with `PersistentStoreDescription.postgres(_:)`.
public final class PostgresStore: QueryingStore, MigratingStore {
    private struct State {
        var identifier = UUID()
        var metadata: [String: PropertyValue] = [:]
        var layout: StoreLayout?
        var isOpening = false
        var keys: [ClosedRange<UInt64>] = []
        var listeners: [ChangeListener] = []
    }

    let pool: ConnectionPool
    /// The transactions in which threads read one state.
    let reads = PerThread<ReadTransaction>()
    let schema: String
    private let migrates: Bool
    private let altersExistingTables: Bool
    private let defersConstraints: Bool
    /// The identity of this object in the table of saves.
    let source = UUID()
    private let state = Guarded(State())
    let historyState = Guarded(HistoryKeeping())
    let throttle = NotificationThrottle()
    let unknownSaves = UnknownSaves()

    /// A store in a schema of a database. Connects when it is opened.
    ///
    /// - Parameters:
    ///   - connection: libpq's connection string or URI, such as `postgresql:///shop`.
    ///   - schema: The schema with the tables. It is created if it does not exist.
    ///   - connectionsMax: The maximum number of connections, at least 2, without the one that waits for notifications. A call that finds none free waits.
    ///   - migrates: True to migrate the tables to the model when they were made for another version.
    ///   - connectionTimeout: The longest time for which a call waits for a free connection or, if it writes, for a lock (then it throws `busy`), and for a
    ///     server that restarts.
    ///   - statementTimeout: The longest time of a statement on the server; nil for the server's own limit. A connection without an answer for this time and
    ///     `connectionTimeout` counts as lost.
    ///   - pollInterval: The time between two reads of the saves of other processes, for a server without `LISTEN`; nil to wait for notifications.
    ///   - defersConstraints: False for a server that cannot check unique values at the end of a transaction. Objects then cannot exchange values in one save.
    ///   - altersExistingTables: True to add a column of versions and its trigger to existing tables that the model names and that lack it.
    public init(
        _ connection: String, schema: String = "public", connectionsMax: Int = 8, migrates: Bool = false, connectionTimeout: Duration = .seconds(20),
        statementTimeout: Duration? = nil, pollInterval: Duration? = nil, defersConstraints: Bool = true, altersExistingTables: Bool = false
    ) {
        self.defersConstraints = defersConstraints
        self.migrates = migrates
        self.altersExistingTables = altersExistingTables
        pool = ConnectionPool(
            ConnectionOptions(
                parameters: connection, connectionsMax: connectionsMax, connectionTimeout: connectionTimeout, statementTimeout: statementTimeout,
                pollInterval: pollInterval))
        self.schema = schema
    }

    /// A coordinator that is released without `close` leaves the threads of listeners, which end here.
    deinit {
        for listener in state.withLock({ $0.listeners }) { listener.stop() }
    }

    public var identifier: UUID { state.withLock { $0.identifier } }
    public var metadata: [String: PropertyValue] { state.withLock { $0.metadata } }

    /// The tables of the open store.
    ///
    /// - Throws: `closed` before the store is opened.
    var layout: StoreLayout {
        get throws {
            guard let layout = state.withLock({ $0.layout }) else { throw HornbeamError(.closed, "The PostgreSQL store is not open.") }
            return layout
        }
    }

    /// Creates the tables in an empty schema, or migrates them.
    ///
    /// - Throws: `modelMismatch` if the tables were made for another version of the model and are not migrated; `inferredMappingFailed` and
    ///   `unsupportedRequest` if they cannot be migrated; `storeInUse` if another container has opened this object, or other processes use the tables.
    public func open(_ model: ManagedObjectModel) throws { try open(model, migrating: nil) }

    /// Creates the tables in an empty schema, or migrates them, by the plan of the container if it has one.
    ///
    /// - Throws: The errors of `open(_:)` and of the migration of Hornbeam's own stores.
    public func open(_ model: ManagedObjectModel, migrating migration: StoreRowMigration?) throws {
        try state.withLock { state in
            guard state.layout == nil, !state.isOpening else {
                throw HornbeamError(.storeInUse, "This description of a PostgreSQL store is open in another container. Make one for each container.")
            }
            state.isOpening = true
        }
        defer { state.withLock { $0.isOpening = false } }
        var layout = try StoreLayout(model, schema: schema, defersConstraints: defersConstraints)
        pool.preparation.withLock { $0 = nil }
        pool.open()
        let opened: SchemaSetup.Opened
        do {
            let keepsHistory = historyState.withLock { $0.tracking != nil }
            opened = try translated { [layout] in
                try pool.withConnection(until: pool.options.deadline) { connection in
                    let opened = try SchemaSetup(
                        layout, schema, migrates: migrates, by: migration, altersExistingTables: altersExistingTables, keepsHistory: keepsHistory, connection
                    ).run()
                    // A migration has no time limit.
                    try pool.options.limitStatements(connection)
                    return opened
                }
            }
        } catch {
            pool.close()
            throw error
        }
        let lock = ModelLock(layout, schema, recordsHistory: opened.recordsHistory, identifier: opened.identifier)
        let options = pool.options
        pool.preparation.withLock { preparation in
            preparation = { connection in
                try lock.takeShared(connection, limit: options.lockMilliseconds)
                try options.limitStatements(connection)
            }
        }
        layout.identifier = opened.identifier
        (layout.tableNumbers, layout.keySequences) = (opened.tableNumbers, opened.keySequences)
        historyState.withLock { $0.isRecording = opened.recordsHistory }
        state.withLock { state in
            state.layout = layout
            // The sequence of a store that was destroyed has begun again.
            state.keys = []
            state.identifier = opened.identifier
            state.metadata = opened.metadata
        }
    }

    public func newKeys(for entityNames: [String]) throws -> [UInt64] {
        let layout = try layout
        if layout.hasMappedTables { return try newKeys(for: entityNames, layout) }
        return try newKeys(count: entityNames.count, layout)
    }

    /// Keys from the sequences of existing tables and from the store's own one.
    private func newKeys(for entityNames: [String], _ layout: StoreLayout) throws -> [UInt64] {
        var keys = [UInt64](repeating: 0, count: entityNames.count)
        for (name, places) in Dictionary(grouping: entityNames.indices, by: { entityNames[$0] }).sorted(by: { $0.key < $1.key }) {
            let table = try layout.table(of: name)
            guard table.isMapped, let sequence = layout.keySequences[table.name] else {
                for (place, key) in zip(places, try newKeys(count: places.count, layout)) { keys[place] = key }
                continue
            }
            let found = try withConnection {
                try $0.execute(Statement("SELECT nextval($1::regclass) FROM generate_series(1, $2::int)", [sequence, String(places.count)]))
            }
            for (row, place) in places.enumerated() {
                let number = found.integer(row, 0) ?? 0
                try layout.requireKey(number, of: name, in: "The sequence \(sequence)")
                keys[place] = layout.outer(CustomStoreKey(name, UInt64(number))).key
            }
        }
        return keys
    }

    private func newKeys(count: Int, _ layout: StoreLayout) throws -> [UInt64] {
        var keys: [UInt64] = []
        while true {
            state.withLock { Self.take(count, from: &$0.keys, to: &keys) }
            if keys.count == count { return keys }
            // Without the lock: other threads continue meanwhile.
            let blocks = try newBlocks((count - keys.count - 1) / StoreLayout.keyBlock + 1, layout)
            state.withLock { $0.keys = blocks.reversed() + $0.keys }
        }
    }

    private static func take(_ count: Int, from ranges: inout [ClosedRange<UInt64>], to keys: inout [UInt64]) {
        while keys.count < count, let range = ranges.popLast() {
            let end = min(range.upperBound, range.lowerBound + UInt64(count - keys.count) - 1)
            keys += range.lowerBound ... end
            if end < range.upperBound { ranges.append(end + 1 ... range.upperBound) }
        }
    }

    /// Takes blocks of keys from the sequence. A block that is not used up is lost; keys are never reused.
    private func newBlocks(_ count: Int, _ layout: StoreLayout) throws -> [ClosedRange<UInt64>] {
        let statement = Statement("SELECT nextval(\(SQLText.literal(layout.keys))) FROM generate_series(1, $1::int)", [String(count)])
        let found = try withConnection { try $0.execute(statement) }
        return (0 ..< found.rowCount).compactMap { row in
            found[row, 0].flatMap(UInt64.init).map { $0 ... $0 + UInt64(StoreLayout.keyBlock) - 1 }
        }
    }

    /// Reads the metadata from the server, with the values that other processes have set since the store was opened.
    public func currentMetadata() throws -> [String: PropertyValue] {
        let settings = try layout.settings
        let found = try withConnection { try $0.execute(Statement("SELECT value FROM \(settings) WHERE name = 'metadata'")) }
        let metadata = try Self.metadata(found.value)
        state.withLock { $0.metadata = metadata }
        return metadata
    }

    private static func metadata(_ text: String?) throws -> [String: PropertyValue] {
        try JSONDecoder().decode([String: PropertyValue].self, from: Data((text ?? "{}").utf8))
    }

    /// Changes the values that differ from those that this process has read or set last. Values that other processes have set meanwhile stay.
    public func setMetadata(_ metadata: [String: PropertyValue]) throws {
        let settings = try layout.settings
        let known = self.metadata
        let (begin, limit) = (Statement("BEGIN"), pool.options.lockLimit)
        let stored = try withConnection { connection in
            // Other processes that set metadata wait until the end of the transaction.
            let found = try connection.execute(all: [begin, limit, Statement("SELECT value FROM \(settings) WHERE name = 'metadata' FOR UPDATE")])
            var stored = try Self.metadata(found[2].value)
            for name in known.keys where metadata[name] == nil { stored.removeValue(forKey: name) }
            for (name, value) in metadata where known[name] != value { stored[name] = value }
            let text = String(decoding: try JSONEncoder().encode(stored), as: UTF8.self)
            let change = "INSERT INTO \(settings) VALUES ('metadata', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
            try connection.execute(all: [Statement(change, [text]), Statement("COMMIT")])
            return stored
        }
        state.withLock { $0.metadata = stored }
    }

    public func observeChanges(_ handler: @escaping @Sendable (ExternalChanges) throws -> Void) throws {
        let layout = try layout
        let listener = ChangeListener(pool.options, layout, source: source, throttle, unknownSaves) {
            try handler(ExternalChanges(changed: $0.changed.map(layout.outer), deleted: $0.deleted.map(layout.outer)))
        }
        try translated { try listener.start() }
        throttle.setListening(true)
        state.withLock { $0.listeners.append(listener) }
    }

    public func close() throws {
        let (listeners, isOpen) = state.withLock { state in
            defer { (state.listeners, state.layout) = ([], nil) }
            return (state.listeners, state.layout != nil)
        }
        guard isOpen else { return }
        for listener in listeners { listener.stop() }
        throttle.setListening(false)
        pool.close()
    }

    /// Translates the errors of the server.
    func translated<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as PostgresError { throw error.translated }
    }
}
#endif
