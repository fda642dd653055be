#if Postgres
internal import Foundation
internal import HornbeamModel

/// Creates the tables of a store, or checks that they belong to the model.
struct SchemaSetup {
    struct Opened {
        var identifier: UUID
        var metadata: [String: PropertyValue]
    }

    private let layout: StoreLayout
    private let schemaName: String
    private let connection: Connection

    init(_ layout: StoreLayout, _ schemaName: String, _ connection: Connection) {
        self.layout = layout
        self.schemaName = schemaName
        self.connection = connection
    }

    /// - Throws: `modelMismatch` if the tables belong to another version of the model, or the database has another encoding than UTF-8.
    func run() throws -> Opened {
        if let encoding = try connection.execute(Statement("SHOW server_encoding")).value, encoding != "UTF8" {
            throw HornbeamError(.modelMismatch, "The database has the encoding \(encoding). Hornbeam needs a database with the encoding UTF8.")
        }
        try connection.execute(Statement("BEGIN"))
        // Held until the end of the transaction: processes that open the store at the same time create its tables once.
        try connection.execute(Statement("SELECT pg_advisory_xact_lock(hashtextextended('hornbeam ' || $1, 0))", [schemaName]))
        let exists = try connection.execute(
            Statement("SELECT to_regclass($1) IS NOT NULL", [layout.settings])).value == "t"
        if !exists { try create() }
        try FoldingFunction.create(in: layout.schema, connection)
        let opened = try check()
        try connection.execute(Statement("COMMIT"))
        return opened
    }

    private func create() throws {
        let isMissing = try connection.execute(
            Statement("SELECT NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", [schemaName])).value == "t"
        if isMissing { try connection.execute(Statement("CREATE SCHEMA \(layout.schema)")) }
        for statement in layout.creation { try connection.execute(Statement(statement)) }
        try connection.execute(
            Statement(
                "INSERT INTO \(layout.settings) VALUES ('identifier', $1), ('model', $2), ('metadata', '{}')",
                [UUID().uuidString, modelHash]))
    }

    private func check() throws -> Opened {
        let found = try connection.execute(Statement("SELECT name, value FROM \(layout.settings)"))
        var settings: [String: String] = [:]
        for row in 0 ..< found.rowCount { if let name = found[row, 0] { settings[name] = found[row, 1] } }
        guard settings["model"] == modelHash else {
            throw HornbeamError(
                .modelMismatch,
                "The tables in the schema “\(schemaName)” were made for another version of the model. The PostgreSQL store does not migrate "
                    + "them: use another schema, or change the tables with psql.")
        }
        guard let identifier = settings["identifier"].flatMap(UUID.init(uuidString:)) else {
            throw HornbeamError(.storeOperationFailed, "The schema “\(schemaName)” has no identifier of a store. It may be damaged.")
        }
        let metadata = try JSONDecoder().decode([String: PropertyValue].self, from: Data((settings["metadata"] ?? "{}").utf8))
        return Opened(identifier: identifier, metadata: metadata)
    }

    /// A text that is equal for models with the same stored form.
    private var modelHash: String {
        let constraints = layout.model.entities.flatMap { entity in
            entity.uniquenessConstraints.filter { $0.entity === entity }.map { "\(entity.name)(\($0.elements.map(\.description).joined(separator: ",")))" }
        }
        return ([layout.model.versionChecksum] + constraints.sorted()).joined(separator: " ")
    }
}
#endif
