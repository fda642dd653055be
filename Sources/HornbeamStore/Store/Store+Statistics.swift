internal import HornbeamEngine
package import HornbeamModel

/// The contents of a store, counted from the trees' entry counts without reading rows.
package struct StoreStatistics: Sendable {
    /// Objects of each concrete entity, in the model's order.
    package var objects: [(entity: String, count: Int)] = []
    /// Entries of each unique constraint and fetch index, by its title.
    package var indexes: [(index: String, entries: Int)] = []
    /// Links of each to-many.
    package var relationships: [(relationship: String, links: Int)] = []

    package var objectCount: Int { objects.reduce(0) { $0 + $1.count } }
}

extension Store {
    /// Counts all trees, in O(number of trees).
    package func statistics() throws -> StoreStatistics {
        let snapshot = try snapshot()
        return try EngineError.translated { () throws(EngineError) in
            var statistics = StoreStatistics()
            for case let table? in schema.tables {
                statistics.objects.append((table.entity.name, snapshot.view(table).count))
            }
            for index in schema.indexes {
                statistics.indexes.append((index.title, try snapshot.engineSnapshot.index(index.tree).count))
            }
            for link in schema.links {
                let name = "\(link.relationship.entity.name).\(link.relationship.name)"
                statistics.relationships.append((name, try snapshot.engineSnapshot.index(link.members).count))
            }
            return statistics
        }
    }

    /// The first rows of an entity as text, one per line: key, version, values. The text contains the user's data.
    package func dump(_ entity: EntityDescription, limit: Int = 100) throws -> String {
        let snapshot = try snapshot()
        var lines: [String] = []
        for table in schema.tables(of: entity, includingSubentities: true) {
            var left = limit
            try EngineError.translated { () throws(EngineError) in
                try snapshot.view(table).forEachLeaf { (leaf) throws(EngineError) -> Bool in
                    for slot in 0 ..< min(leaf.count, left) {
                        lines.append(try line(leaf.row(slot), leaf.key(slot), table))
                    }
                    left -= min(leaf.count, left)
                    return left > 0
                }
            }
        }
        return lines.joined(separator: "\n")
    }

    private func line(_ row: RowView, _ key: UInt64, _ table: EntityTable) throws(EngineError) -> String {
        let version = row.load(EntityTable.versionColumn, as: UInt32.self)
        var text = "\(table.entity.name) \(key) v\(version)"
        for case let column? in table.columns where !row.isNull(column.column) {
            let value = column.type == .reference
                ? column.reference(in: row, schema: schema).map { "→ \($0.key)" } ?? "→ ?"
                : try column.value(in: row, schema: schema, origin: reader.origins).expandedDescription
            text += " \(column.property.name): \(value)"
        }
        return text
    }
}
