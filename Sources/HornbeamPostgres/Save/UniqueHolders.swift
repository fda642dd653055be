#if Postgres
internal import HornbeamModel

/// The rows that have unique values of new or changed objects.
struct UniqueHolders {
    private let changes: CustomStoreChanges
    private let layout: StoreLayout
    private let connection: Connection

    init(_ changes: CustomStoreChanges, _ layout: StoreLayout, _ connection: Connection) {
        self.changes = changes
        self.layout = layout
        self.connection = connection
    }

    func rows() throws -> [CustomStoreRow] {
        // With their entities: rows of existing tables can have equal keys.
        let own = Set(changes.updated.map(\.object) + changes.deleted)
        let current = try StoreReader(layout, connection).rows(of: changes.updated.map(\.object))
        let stored = Dictionary(current.map { ($0.object, $0) }) { first, _ in first }
        var searches: [(reader: RowReader, statement: Statement)] = []
        for unique in layout.uniques {
            for row in changes.inserted + changes.updated where try isKind(row.object, unique.entity) {
                if let search = try search(for: row, stored[row.object], unique) { searches.append(search) }
            }
        }
        var found: [CustomStoreKey: CustomStoreRow] = [:]
        for (search, result) in zip(searches, try connection.execute(all: searches.map(\.statement))) {
            for holder in try search.reader.rows(result) where !own.contains(holder.object) { found[holder.object] = holder }
        }
        return found.values.sorted { $0.object.key < $1.object.key }
    }

    private func isKind(_ object: CustomStoreKey, _ entity: EntityDescription) throws -> Bool {
        try layout.model.entity(named: object.entityName).isKind(of: entity)
    }

    /// Searches the rows with the unique values of a row. Nil if one of its values is missing.
    private func search(for row: CustomStoreRow, _ stored: CustomStoreRow?, _ unique: UniqueColumns) throws -> (RowReader, Statement)? {
        var parameters = ParameterList()
        var tests: [String] = []
        for (name, column) in zip(unique.names, unique.columns) {
            guard let cell = unique.table.column(name, of: unique.entity.name) else { return nil }
            let type = cell.parameterType
            let attribute = try layout.model.entity(named: row.object.entityName).property(named: name)
            let text: String? = if attribute.isAttribute {
                try cell.text(of: row.values[name] ?? stored?.values[name] ?? .null)
            } else {
                (row.destinations[name] ?? stored?.destinations[name]).map { String($0.key) }
            }
            guard let text else { return nil }
            tests.append("t.\(column) = \(parameters.add(text, as: type))")
        }
        let names = SQLText.array(unique.entity.concreteDescendants.map { $0.name as String? })
        tests.append("\(unique.table.entity(of: "t")) = ANY(\(parameters.add(names, as: "text[]")))")
        let reader = RowReader(unique.table, layout)
        let sql = "SELECT \(try reader.columns()) FROM \(unique.table.name) t WHERE \(tests.joined(separator: " AND "))"
        return (reader, Statement(sql, parameters.values))
    }
}
#endif
