#if Postgres
internal import Foundation
internal import HornbeamModel

/// The changes of an entry as JSON: `[{"entity":"Book","updated":[7,9],"properties":["title"]}]`.
private struct CodedGroup: Decodable {
    var entity: String
    var inserted: [UInt64]?
    var updated: [UInt64]?
    var properties: [String]?
    var deleted: [UInt64]?
    /// The values that history preserves, for each deleted object.
    var values: [[String: PropertyValue]]?

    var group: StoreHistoryEntry.Group {
        if let inserted { return .init(entity, .inserted, inserted) }
        if let updated { return .init(entity, .updated(properties ?? []), updated) }
        return .init(entity, .deleted(values ?? []), deleted ?? [])
    }
}

/// Writes the changes of an entry. Most of them are keys, for which an encoder takes as much time as the rest of a save.
private struct ChangesText {
    private(set) var bytes: [UInt8] = [UInt8(ascii: "[")]

    mutating func append(_ group: StoreHistoryEntry.Group) throws {
        if bytes.count > 1 { append(",") }
        append("{\"entity\":")
        append(quoted: group.entityName)
        switch group.change {
        case .inserted: append(group.keys, as: "inserted")
        case .updated(let names):
            append(group.keys, as: "updated")
            append(",\"properties\":[")
            for (place, name) in names.enumerated() {
                if place > 0 { append(",") }
                append(quoted: name)
            }
            append("]")
        case .deleted(let tombstones):
            append(group.keys, as: "deleted")
            if tombstones.isEmpty { break }
            append(",\"values\":")
            bytes += try JSONEncoder().encode(tombstones)
        }
        append("}")
    }

    private mutating func append(_ text: String) { bytes += text.utf8 }

    private mutating func append(_ keys: [UInt64], as name: String) {
        append(",\"")
        append(name)
        append("\":[")
        for (place, key) in keys.enumerated() {
            if place > 0 { append(",") }
            bytes.append(digits: key)
        }
        append("]")
    }

    private mutating func append(quoted text: String) {
        append("\"")
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): append("\\\"")
            case UInt8(ascii: "\\"): append("\\\\")
            case 0 ..< 0x20: append((byte < 0x10 ? "\\u000" : "\\u00") + String(byte, radix: 16))
            default: bytes.append(byte)
            }
        }
        append("\"")
    }
}

extension StoreHistoryEntry {
    /// The columns of an entry, beside those with defaults.
    static let columns = "is_batch, author, context, process, process_name, changes"

    /// The statement that records a save.
    func insertion(into tables: HistoryTables) throws -> Statement {
        var text = ChangesText()
        for group in groups { try text.append(group) }
        let changes = String(decoding: text.bytes, as: UTF8.self) + "]"
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
