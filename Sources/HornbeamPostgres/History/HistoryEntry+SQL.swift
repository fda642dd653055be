#if Postgres
internal import Foundation
internal import HornbeamModel

/// The changes of an entry as JSON: `[{"entity":"Book","updated":[7,9],"properties":["title"]}]`.
private struct CodedGroup: Codable {
    var entity: String
    var inserted: [UInt64]?
    var updated: [UInt64]?
    var properties: [String]?
    var deleted: [UInt64]?
    /// The values that history preserves, for each deleted object.
    var values: [[String: PropertyValue]]?

    init(_ group: StoreHistoryEntry.Group) {
        entity = group.entityName
        switch group.change {
        case .inserted: inserted = group.keys
        case .updated(let names): (updated, properties) = (group.keys, names)
        case .deleted(let tombstones): (deleted, values) = (group.keys, tombstones.isEmpty ? nil : tombstones)
        }
    }

    var group: StoreHistoryEntry.Group {
        if let inserted { return .init(entity, .inserted, inserted) }
        if let updated { return .init(entity, .updated(properties ?? []), updated) }
        return .init(entity, .deleted(values ?? []), deleted ?? [])
    }
}

extension StoreHistoryEntry {
    /// The columns of an entry, beside those with defaults.
    static let columns = "is_batch, author, context, process, process_name, changes"

    /// The statement that records a save.
    func insertion(into tables: HistoryTables) throws -> Statement {
        let changes = String(decoding: try JSONEncoder().encode(groups.map(CodedGroup.init)), as: UTF8.self)
        return Statement(
            "INSERT INTO \(tables.entries) (\(Self.columns)) VALUES (\(isBatch), $1, $2, $3, $4, $5)", origin + [changes])
    }

    /// The parameters of the author, the context, and the process.
    var origin: [String?] {
        [author.map(ColumnValue.escaped), contextName.map(ColumnValue.escaped), String(processIdentifier), processName.map(ColumnValue.escaped)]
    }

    /// The entry in the columns of a row from `column` on.
    init(_ result: QueryResult, _ row: Int, from column: Int) throws {
        self.init(isBatch: result[row, column] == "t")
        author = result[row, column + 1].map(ColumnValue.unescaped)
        contextName = result[row, column + 2].map(ColumnValue.unescaped)
        processIdentifier = Int32(truncatingIfNeeded: result.integer(row, column + 3) ?? 0)
        processName = result[row, column + 4].map(ColumnValue.unescaped)
        groups = try JSONDecoder().decode([CodedGroup].self, from: Data((result[row, column + 5] ?? "[]").utf8)).map(\.group)
    }
}
#endif
