#if Postgres
internal import Foundation
internal import HornbeamModel

/// Creates the tables of a store, or checks that they belong to the model.
struct SchemaSetup {
    struct Opened {
        var identifier: UUID
        var metadata: [String: PropertyValue]
        /// True if saves are recorded in the history.
        var recordsHistory = false
        /// The numbers of existing tables, and the sequences of their keys.
        var tableNumbers: [String: UInt64] = [:]
        var keySequences: [String: String] = [:]
    }

    private let layout: StoreLayout
    private let schemaName: String
    /// True to migrate the tables of another version of the model.
    private let migrates: Bool
    /// True if the container keeps history.
    private let keepsHistory: Bool
    /// True to add the columns that existing tables lack.
    private let altersExistingTables: Bool
    /// Migrates rows by the plan of the container; nil if the description forbids it.
    private let rowMigration: StoreRowMigration?
    private let connection: Connection

    init(
        _ layout: StoreLayout, _ schemaName: String, migrates: Bool, by rowMigration: StoreRowMigration?, altersExistingTables: Bool, keepsHistory: Bool,
        _ connection: Connection
    ) {
        self.altersExistingTables = altersExistingTables
        self.migrates = migrates
        self.rowMigration = rowMigration
        self.keepsHistory = keepsHistory
        self.layout = layout
        self.schemaName = schemaName
        self.connection = connection
    }

    /// - Throws: `modelMismatch` if the tables belong to another version of the model, or the database has another encoding than UTF-8. `storeInUse` if
    ///   the tables must be migrated while other processes use them.
    func run() throws -> Opened {
        let found = try connection.execute(all: [
            Statement("SHOW server_encoding"), Statement("BEGIN"),
            // Held until the end of the transaction: processes that open the store at the same time create its tables once.
            Self.lock(schemaName),
            Statement(
                "SELECT to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL, EXISTS (SELECT FROM pg_namespace WHERE nspname = $3)",
                [layout.settings, layout.history.entries, schemaName]),
            FoldingFunction.search(in: layout.schema),
        ])
        if let encoding = found[0].value, encoding != "UTF8" {
            throw HornbeamError(.modelMismatch, "The database has the encoding \(encoding). Hornbeam needs a database with the encoding UTF8.")
        }
        let functions = FoldingFunction.creation(in: layout.schema, after: found[4])
        if found[3][0, 0] != "t" { return try create(functions, hasSchema: found[3][0, 2] == "t") }
        try connection.execute(all: functions)
        var opened = try check()
        try checkMappedTables(&opened)
        opened.recordsHistory = try HistorySetup(layout, schemaName, connection).run(isWanted: keepsHistory, exists: found[3][0, 1] == "t")
        try FetchIndexes(layout).create(dropsOthers: migrates, connection)
        try connection.execute(all: ending)
        return opened
    }

    private var ending: [Statement] { [ModelLock(layout, schemaName).shared, Statement("COMMIT")] }

    /// Waits for other processes that create, migrate or destroy the tables of a schema.
    static func lock(_ schemaName: String) -> Statement {
        Statement("SELECT pg_advisory_xact_lock(hashtextextended('hornbeam ' || $1, 0))", [schemaName])
    }

    /// Creates the tables, in one round trip.
    private func create(_ functions: [Statement], hasSchema: Bool) throws -> Opened {
        var opened = Opened(identifier: UUID(), metadata: [:], recordsHistory: keepsHistory)
        var statements = hasSchema ? [] : [Statement("CREATE SCHEMA \(layout.schema)")]
        statements += functions + layout.creation.map { Statement($0) }
        statements.append(
            Statement(
                "INSERT INTO \(layout.settings) VALUES ('identifier', $1), ('model', $2), ('metadata', '{}'), ('definition', $3)",
                [opened.identifier.uuidString, layout.modelHash, try definition]))
        if try layout.isSharded && hasCitus { statements += layout.distribution.map { Statement($0) } }
        if keepsHistory { statements += layout.history.creation.map { Statement($0) } }
        statements += try FetchIndexes(layout).creation()
        if !layout.hasMappedTables {
            try connection.execute(all: statements + ending)
            return opened
        }
        try connection.execute(all: statements)
        try checkMappedTables(&opened)
        try connection.execute(all: ending)
        return opened
    }

    private var hasCitus: Bool {
        get throws { try connection.execute(Statement("SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')")).value == "t" }
    }

    private func checkMappedTables(_ opened: inout Opened) throws {
        guard layout.hasMappedTables else { return }
        var tables = MappedTables(layout, connection)
        if altersExistingTables { try tables.addVersions() }
        opened.keySequences = try tables.validate()
        opened.tableNumbers = try tables.tableNumbers()
    }

    private func check() throws -> Opened {
        let found = try connection.execute(Statement("SELECT name, value FROM \(layout.settings)"))
        var settings: [String: String] = [:]
        for row in 0 ..< found.rowCount { if let name = found[row, 0] { settings[name] = found[row, 1] } }
        if settings["model"] != layout.modelHash {
            try migrate(settings)
        } else if settings["definition"] == nil {
            // Tables that were made before the store kept its model.
            try connection.execute(Statement("INSERT INTO \(layout.settings) VALUES ('definition', $1)", [try definition]))
        }
        guard let identifier = settings["identifier"].flatMap(UUID.init(uuidString:)) else {
            throw HornbeamError(.storeOperationFailed, "The schema “\(schemaName)” has no identifier of a store. It may be damaged.")
        }
        let metadata = try JSONDecoder().decode([String: PropertyValue].self, from: Data((settings["metadata"] ?? "{}").utf8))
        return Opened(identifier: identifier, metadata: metadata)
    }

    private var definition: String { get throws { String(decoding: try layout.model.encoded(), as: UTF8.self) } }

    // MARK: Migration

    /// Migrates with SQL if nothing but names and properties changes, and otherwise row by row.
    private func migrate(from old: StoreLayout) throws {
        guard let rowMigration else { return try SchemaMigration(from: old, to: layout, connection).run() }
        if try rowMigration.hasStages(from: old.model) { return try RowMigration(rowMigration, from: old, to: layout, connection).run() }
        try connection.execute(Statement("SAVEPOINT migration"))
        do { try SchemaMigration(from: old, to: layout, connection).run() } catch let error as HornbeamError where error.code == .unsupportedRequest {
            try connection.execute(Statement("ROLLBACK TO SAVEPOINT migration"))
            try RowMigration(rowMigration, from: old, to: layout, connection).run()
        }
    }

    private func migrate(_ settings: [String: String]) throws {
        let former = (settings["former"] ?? "").split(separator: "\n").map(String.init)
        guard migrates, !former.contains(layout.modelHash), let stored = settings["definition"], let hash = settings["model"] else {
            let reason = former.contains(layout.modelHash)
                ? "were migrated to a newer version of the model. Open them with that version."
                : "were made for another version of the model. Pass `migrates: true` to migrate them, or use another schema."
            throw HornbeamError(.modelMismatch, "The tables in the schema “\(schemaName)” \(reason)")
        }
        guard try ModelLock.takeExclusive(schemaName, connection) else {
            throw HornbeamError(
                .storeInUse,
                "The tables in the schema “\(schemaName)” must be migrated, but other processes have the store open. Close it in all of them, then "
                    + "open it again.")
        }
        let old = try StoreLayout(ManagedObjectModel.decoded(Array(stored.utf8)), schema: schemaName)
        try AddedColumns(old).requireNone(connection)
        try migrate(from: old)
        // The lists name entities of the old model, which listeners could not read. The tokens stay, because processes look for them to find the outcomes
        // of saves.
        try connection.execute(Statement("UPDATE \(layout.saves) SET changed = '', deleted = '' WHERE changed IS NOT NULL"))
        if try connection.execute(Statement("SELECT to_regclass($1) IS NOT NULL", [layout.history.entries])).value == "t" {
            // Entries name entities and properties of the old model.
            for statement in layout.history.expiry { try connection.execute(statement) }
        }
        let values = [("model", layout.modelHash), ("definition", try definition), ("former", (former + [hash]).joined(separator: "\n"))]
        for (name, value) in values {
            try connection.execute(
                Statement("INSERT INTO \(layout.settings) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value", [name, value]))
        }
    }
}

/// The lock that keeps a migration from changing the tables of open stores. Each connection of an open store holds it shared until it ends.
struct ModelLock: Sendable {
    private let layout: StoreLayout
    private let schemaName: String
    /// True if the store records history; nil if it is not known.
    private let recordsHistory: Bool?
    /// The identity of the store; nil if it is not known.
    private let identifier: UUID?

    init(_ layout: StoreLayout, _ schemaName: String, recordsHistory: Bool? = nil, identifier: UUID? = nil) {
        self.recordsHistory = recordsHistory
        self.identifier = identifier
        self.layout = layout
        self.schemaName = schemaName
    }

    var shared: Statement { Statement("SELECT pg_advisory_lock_shared(hashtextextended('hornbeam model ' || $1, 0))", [schemaName]) }

    /// Returns true if no open store holds the lock.
    static func exclusive(_ schemaName: String) -> Statement {
        Statement("SELECT pg_try_advisory_xact_lock(hashtextextended('hornbeam model ' || $1, 0))", [schemaName])
    }

    /// Takes the lock for the transaction. Waits a second at most: the server notices a little later that the connections of a closed store have ended.
    ///
    /// - Returns: False if an open store holds the lock.
    static func takeExclusive(_ schemaName: String, _ connection: Connection) throws(PostgresError) -> Bool {
        for _ in 0 ..< 50 {
            if try connection.execute(exclusive(schemaName)).value == "t" { return true }
            Thread.sleep(forTimeInterval: 0.02)
        }
        return false
    }

    /// Takes the lock for a new connection of an open store.
    ///
    /// - Parameter limit: The longest wait for a migration, in milliseconds.
    /// - Throws: `modelMismatch` if another process has migrated the tables meanwhile, `storeInUse` if it has begun or removed the history, or has destroyed
    ///   the store and made it again, `busy` while it migrates the tables.
    func takeShared(_ connection: Connection, limit: Int64) throws {
        let found: [QueryResult]
        do { found = try readWithLock(connection, limit) } catch let error as PostgresError where error.isLockTimeout {
            throw HornbeamError(
                .busy, "Another process migrates the tables in the schema “\(schemaName)”. Nothing was sent. Try again when the migration has ended.")
        }
        try check(found)
    }

    private func readWithLock(_ connection: Connection, _ limit: Int64) throws -> [QueryResult] {
        let found = try connection.execute(all: [
            Statement("SET lock_timeout TO \(limit)"), shared, Statement("SELECT value FROM \(layout.settings) WHERE name = 'model'"),
            Statement("SELECT to_regclass($1) IS NOT NULL", [layout.history.entries]),
            Statement("SELECT value FROM \(layout.settings) WHERE name = 'identifier'"), Statement("RESET lock_timeout"),
        ])
        return Array(found[2 ... 4])
    }

    /// - Parameter found: The hash of the model, whether there is a history, and the identity of the store.
    private func check(_ found: [QueryResult]) throws {
        if let identifier, found[2].value.flatMap(UUID.init(uuidString:)) != identifier {
            throw HornbeamError(
                .storeInUse,
                "While this process had no connection, the store in the schema “\(schemaName)” was destroyed and made again. Open the store again.")
        }
        if let recordsHistory, (found[1].value == "t") != recordsHistory {
            throw HornbeamError(
                .storeInUse,
                "While this process had no connection, another one has \(recordsHistory ? "removed" : "begun") the history of the store in the schema "
                    + "“\(schemaName)”. Open the store again.")
        }
        guard found[0].value != layout.modelHash else { return }
        throw HornbeamError(
            .modelMismatch,
            "Another process has migrated the tables in the schema “\(schemaName)” to another version of the model. Open the store with that version.")
    }
}

extension StoreLayout {
    /// A text that is equal for models with the same stored form.
    var modelHash: String {
        let constraints = model.entities.flatMap { entity in
            entity.uniquenessConstraints.filter { $0.entity === entity }.map { "\(entity.name)(\($0.elements.map(\.description).joined(separator: ",")))" }
        }
        let shards = tables.compactMap { table in table.shard.map { "\(table.root.name)/\($0.property.name)" } }
        return ([model.versionChecksum] + constraints.sorted() + shards.sorted()).joined(separator: " ")
    }
}
#endif
