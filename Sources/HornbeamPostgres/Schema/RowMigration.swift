#if Postgres
internal import HornbeamModel

/// Migrates the tables of a store by the plan of the container, in the transaction of the caller: reads all rows, migrates them here, and writes them into new
/// tables.
struct RowMigration {
    /// The largest number of rows in a statement.
    private static let chunkMax = 10_000

    private let migration: StoreRowMigration
    private let old: StoreLayout
    private let new: StoreLayout
    private let connection: Connection

    init(_ migration: StoreRowMigration, from old: StoreLayout, to new: StoreLayout, _ connection: Connection) {
        self.migration = migration
        self.old = old
        self.new = new
        self.connection = connection
    }

    func run() throws {
        guard !old.hasMappedTables && !new.hasMappedTables else {
            throw HornbeamError(
                .unsupportedRequest,
                "A migration by code or with other forms of values would replace the rows of existing tables, which the store leaves alone.")
        }
        let before = try StoreReader(old, connection, isInTransaction: true).everything()
        let lastKey = try connection.execute(Statement("SELECT last_value + \(StoreLayout.keyBlock) FROM \(old.keys)")).value.flatMap(UInt64.init) ?? 0
        let rows = try migration.rows(before, lastKey: lastKey, from: old.model)
        for name in old.joins.map(\.name) + old.tables.map(\.name) { try connection.execute(Statement("DROP TABLE \(name)")) }
        for statement in new.tableCreation { try connection.execute(Statement(statement)) }
        for start in stride(from: 0, to: rows.count, by: Self.chunkMax) {
            let changes = try self.changes(rows[start ..< min(start + Self.chunkMax, rows.count)])
            let statements = try SaveStatements(changes, new)
            try connection.execute { try statements.forEachWrite($0) }
        }
        if let last = rows.map(\.object.key).max() {
            try connection.execute(Statement("SELECT setval($1, greatest($2::bigint, (SELECT last_value FROM \(new.keys))))", [new.keys, String(last)]))
        }
    }

    private func changes(_ rows: ArraySlice<CustomStoreRow>) throws -> CustomStoreChanges {
        var changes = CustomStoreChanges()
        changes.inserted = Array(rows)
        for row in rows {
            let entity = try new.model.entity(named: row.object.entityName)
            for (name, members) in row.members.sorted(by: { $0.key < $1.key }) where !members.isEmpty {
                let relationship = try entity.property(named: name)
                changes.members.append(
                    .init(
                        owner: row.object, relationship: name, added: JoinTable.followsToOne(relationship) ? [] : members,
                        order: relationship.isOrdered ? members : nil))
            }
        }
        return changes
    }
}
#endif
