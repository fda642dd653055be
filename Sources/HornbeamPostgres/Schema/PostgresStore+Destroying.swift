#if Postgres
internal import Foundation
internal import HornbeamModel
internal import HornbeamThreads

extension PostgresStore {
    /// Deletes the tables of the store. The schema and other tables in it stay.
    ///
    /// - Throws: `storeInUse` if a container of this or another process has the store open; `storeOperationFailed` if other objects of the database
    ///   depend on the tables, such as views.
    public func destroy() throws {
        guard (try? layout) == nil else { throw isOpen }
        pool.preparation.withLock { $0 = nil }
        pool.open()
        defer { pool.close() }
        try translated { try pool.withConnection(until: pool.options.deadline, destroy) }
    }

    private func destroy(_ connection: Connection) throws {
        let quoted = try TableLayout.identifier(schema)
        try connection.execute(Statement("BEGIN"))
        try connection.execute(pool.options.lockLimit)
        try connection.execute(SchemaSetup.lock(schema))
        guard try ModelLock.takeExclusive(schema, connection) else { throw isOpen }
        let settings = quoted + ".\"_hornbeam\""
        if try connection.execute(Statement("SELECT to_regclass($1) IS NOT NULL", [settings])).value == "t" {
            let definition = try connection.execute(Statement("SELECT value FROM \(settings) WHERE name = 'definition'")).value ?? ""
            let layout = try StoreLayout(ManagedObjectModel.decoded(Array(definition.utf8)), schema: schema)
            let tables = layout.tables.filter { !$0.isMapped }.map(\.name) + layout.joins.filter { !$0.isMapped }.map(\.name)
            if !tables.isEmpty { try connection.execute(Statement("DROP TABLE \(tables.joined(separator: ", "))")) }
            try connection.execute(Statement(layout.history.functionRemoval))
            let existing = Set(layout.tables.filter(\.isMapped).map(\.name) + layout.joins.filter(\.isMapped).map(\.name))
            for statement in Self.removal(of: layout, except: existing) { try connection.execute(statement) }
        }
        try connection.execute(Statement("COMMIT"))
    }

    /// The statements that remove the tables and sequences that each store has. The folding functions, and the function that counts versions, stay, because
    /// other tables may use them.
    ///
    /// - Parameter existing: The quoted names of tables that existed before the store.
    private static func removal(of layout: StoreLayout, except existing: Set<String>) -> [Statement] {
        let history = layout.history
        let tables = [layout.settings, layout.saves, history.entries, history.state, history.consumers].filter { !existing.contains($0) }
        return [
            Statement("DROP TABLE IF EXISTS \(tables.joined(separator: ", "))"), Statement("DROP SEQUENCE IF EXISTS \(layout.keys), \(history.places)"),
        ]
    }

    private var isOpen: HornbeamError {
        HornbeamError(
            .storeInUse, "The tables in the schema “\(schema)” are in use. Close the store in all containers and processes, then destroy it again.")
    }
}
#endif
