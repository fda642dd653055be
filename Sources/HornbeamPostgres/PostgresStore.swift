#if Postgres
public import Foundation
public import HornbeamModel
internal import HornbeamThreads

/// A store whose rows are in tables of a PostgreSQL database.
///
/// The server answers fetches and counts whose conditions and orders have exactly the same meaning in SQL. For other requests it returns more
/// rows, of which Hornbeam finds the results. Open it with `PersistentStoreDescription.postgres(_:)`.
public final class PostgresStore: QueryingStore {
    private struct State {
        var identifier = UUID()
        var metadata: [String: PropertyValue] = [:]
        var layout: StoreLayout?
        var keys: [ClosedRange<UInt64>] = []
        var listeners: [ChangeListener] = []
    }

    let pool: ConnectionPool
    private let connection: String
    let schema: String
    private let migrates: Bool
    /// The identity of this object in the table of saves.
    let source = UUID()
    private let state = Guarded(State())

    /// A store in a schema of a database. Connects when it is opened.
    ///
    /// - Parameters:
    ///   - connection: libpq's connection string or URI, such as `postgresql:///shop`.
    ///   - schema: The schema with the tables. It is created if it does not exist.
    ///   - connectionsMax: The maximum number of connections. A call that finds none free waits.
    ///   - migrates: True to migrate the tables to the model when they were made for another version.
    public init(_ connection: String, schema: String = "public", connectionsMax: Int = 8, migrates: Bool = false) {
        self.migrates = migrates
        pool = ConnectionPool(connection, connectionsMax: max(connectionsMax, 1))
        self.connection = connection
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
    public func open(_ model: ManagedObjectModel) throws {
        guard state.withLock({ $0.layout == nil }) else {
            throw HornbeamError(.storeInUse, "This description of a PostgreSQL store is open in another container. Make one for each container.")
        }
        var layout = try StoreLayout(model, schema: schema)
        pool.preparation.withLock { $0 = nil }
        pool.open()
        let opened: SchemaSetup.Opened
        do {
            opened = try translated { [layout] in try pool.withConnection { try SchemaSetup(layout, schema, migrates: migrates, $0).run() } }
        } catch {
            pool.close()
            throw error
        }
        let lock = ModelLock(layout, schema)
        pool.preparation.withLock { $0 = { try lock.takeShared($0) } }
        layout.identifier = opened.identifier
        state.withLock { state in
            state.layout = layout
            // The sequence of a store that was destroyed has begun again.
            state.keys = []
            state.identifier = opened.identifier
            state.metadata = opened.metadata
        }
    }

    public func newKeys(for entityNames: [String]) throws -> [UInt64] {
        var keys: [UInt64] = []
        try state.withLock { state in
            while keys.count < entityNames.count {
                if let range = state.keys.popLast() {
                    let end = min(range.upperBound, range.lowerBound + UInt64(entityNames.count - keys.count) - 1)
                    keys += range.lowerBound ... end
                    if end < range.upperBound { state.keys.append(end + 1 ... range.upperBound) }
                } else {
                    guard let layout = state.layout else { throw HornbeamError(.closed, "The PostgreSQL store is not open.") }
                    state.keys = try newBlocks((entityNames.count - keys.count - 1) / StoreLayout.keyBlock + 1, layout).reversed()
                }
            }
        }
        return keys
    }

    /// Takes blocks of keys from the sequence. A block that is not used up is lost; keys are never reused.
    private func newBlocks(_ count: Int, _ layout: StoreLayout) throws -> [ClosedRange<UInt64>] {
        let statement = Statement("SELECT nextval(\(SQLText.literal(layout.keys))) FROM generate_series(1, $1::int)", [String(count)])
        let found = try withConnection { try $0.execute(statement) }
        return (0 ..< found.rowCount).compactMap { row in
            found[row, 0].flatMap(UInt64.init).map { $0 ... $0 + UInt64(StoreLayout.keyBlock) - 1 }
        }
    }

    public func setMetadata(_ metadata: [String: PropertyValue]) throws {
        let text = String(decoding: try JSONEncoder().encode(metadata), as: UTF8.self)
        let settings = try layout.settings
        _ = try withConnection { connection in
            try connection.execute(
                Statement("INSERT INTO \(settings) VALUES ('metadata', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value", [text]))
        }
        state.withLock { $0.metadata = metadata }
    }

    public func observeChanges(_ handler: @escaping @Sendable (ExternalChanges) -> Void) throws {
        let listener = ChangeListener(connection, try layout, source: source, handler)
        try translated { try listener.start() }
        state.withLock { $0.listeners.append(listener) }
    }

    public func close() throws {
        let listeners = state.withLock { state in
            defer { (state.listeners, state.layout) = ([], nil) }
            return state.listeners
        }
        for listener in listeners { listener.stop() }
        pool.close()
    }

    /// Translates the errors of the server.
    func translated<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as PostgresError { throw error.error }
    }
}
#endif
