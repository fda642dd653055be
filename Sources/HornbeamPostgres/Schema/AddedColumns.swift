#if Postgres
internal import HornbeamModel

/// Columns that others have added to the store's own tables. A migration makes new tables, and would lose their values.
struct AddedColumns {
    private let tables: [(name: String, columns: Set<String>)]

    init(_ layout: StoreLayout) {
        let rows = layout.tables.filter { !$0.isMapped }.map { table in
            let own = table.columns.flatMap { [$0.name] + ($0.entityName.map { [$0] } ?? []) }
            let orders = table.lists.filter(JoinTable.followsToOne).map(StoreLayout.orderColumn)
            return (table.name, Set(["_id", "_entity", "_version"] + (own + orders).map(SQLText.unquoted)))
        }
        let pairs = layout.joins.filter { !$0.isMapped }.map { join in
            (join.name, Set(["source", "target", "source_place", "target_place", SQLText.unquoted(JoinTable.shardColumn)]))
        }
        tables = rows + pairs
    }

    /// - Throws: `unsupportedRequest` with the names of the columns.
    func requireNone(_ connection: Connection) throws {
        let search = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped"
        let results = try connection.execute(all: tables.map { Statement(search, [$0.name]) })
        for (table, result) in zip(tables, results) {
            let added = (0 ..< result.rowCount).compactMap { result[$0, 0] }.filter { !table.columns.contains($0) }.sorted()
            guard !added.isEmpty else { continue }
            throw HornbeamError(
                .unsupportedRequest,
                "The table \(table.name) has columns that others have added: \(added.joined(separator: ", ")). A migration makes new tables, and would lose "
                    + "their values. Move the values to a table of your own, drop the columns, and migrate again.")
        }
    }
}
#endif
