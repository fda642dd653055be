#if Postgres
internal import Foundation
public import HornbeamModel

extension PostgresStore {
    /// The number of times that a transaction runs when the server rolls it back because of other transactions.
    private static let attemptsMax = 5

    public func save(_ changes: CustomStoreChanges) throws {
        let layout = try layout
        let statements = try SaveStatements(changes, layout)
        for attempt in 1 ... Self.attemptsMax {
            // Found again after a lost connection, if the transaction was committed.
            let token = UUID()
            do {
                try run(statements, token)
                return trimHistory()
            } catch let error as PostgresError {
                if error.isUniqueViolation { throw try translated { try conflict(with: changes, error) } }
                if error.isLostConnection, try withConnection({ try isSaved(token, layout, $0) }) { return trimHistory() }
                guard error.isRepeatable || error.isLostConnection, attempt < Self.attemptsMax else { throw error.error }
            }
        }
    }

    /// One round trip for new objects, two with changed or deleted objects.
    private func run(_ statements: SaveStatements, _ token: UUID) throws {
        let layout = try layout
        try pool.withConnection { connection in
            var rest = statements.record(token, source: source) + statements.writes + [Statement("COMMIT")]
            if statements.locks.isEmpty {
                rest.insert(Statement("BEGIN"), at: 0)
            } else {
                let locked = try connection.execute(all: [Statement("BEGIN")] + statements.locks.map(\.statement))
                let conflict = try statements.conflict(Array(locked.dropFirst())) { keys in
                    try StoreReader(layout, connection).rows(of: keys)
                }
                if let conflict { throw conflict }
            }
            _ = try connection.execute(all: rest)
        }
    }

    /// True if the transaction with a token was committed. Otherwise it never will be: the token is used here, and the primary key waits for
    /// a transaction that has used it and is not complete.
    ///
    /// The row that this call inserts has no changes, unlike that of a save. The call can therefore be repeated if its own answer is lost.
    func isSaved(_ token: UUID, _ layout: StoreLayout, _ connection: Connection) throws -> Bool {
        let found = try connection.execute(
            Statement(
                """
                INSERT INTO \(layout.saves) AS s (token, source) VALUES ($1, $2) \
                ON CONFLICT (token) DO UPDATE SET token = excluded.token RETURNING s.changed IS NOT NULL
                """, [token.uuidString, source.uuidString]))
        return found.value == "t"
    }

    /// The rows that have unique values of a save.
    private func conflict(with changes: CustomStoreChanges, _ error: PostgresError) throws -> any Error {
        let layout = try layout
        let rows = try pool.withConnection { try UniqueHolders(changes, layout, $0).rows() }
        // Without a holder, the conflict was resolved meanwhile, or the rows exchange values in an order that the server refuses.
        return rows.isEmpty ? error.error : CustomStoreConflict(rows: rows)
    }
}

/// The rows that have unique values of new or changed objects.
private struct UniqueHolders {
    private let changes: CustomStoreChanges
    private let layout: StoreLayout
    private let connection: Connection

    init(_ changes: CustomStoreChanges, _ layout: StoreLayout, _ connection: Connection) {
        self.changes = changes
        self.layout = layout
        self.connection = connection
    }

    func rows() throws -> [CustomStoreRow] {
        let own = Set((changes.updated.map(\.object) + changes.deleted).map(\.key))
        let current = try StoreReader(layout, connection).rows(of: changes.updated.map(\.object))
        let stored = Dictionary(current.map { ($0.object, $0) }) { first, _ in first }
        var found: [CustomStoreKey: CustomStoreRow] = [:]
        for unique in layout.uniques {
            for row in changes.inserted + changes.updated where try isKind(row.object, unique.entity) {
                for holder in try holders(of: row, stored[row.object], unique) where !own.contains(holder.object.key) { found[holder.object] = holder }
            }
        }
        return found.values.sorted { $0.object.key < $1.object.key }
    }

    private func isKind(_ object: CustomStoreKey, _ entity: EntityDescription) throws -> Bool {
        try layout.model.entity(named: object.entityName).isKind(of: entity)
    }

    private func holders(of row: CustomStoreRow, _ stored: CustomStoreRow?, _ unique: UniqueColumns) throws -> [CustomStoreRow] {
        var parameters = ParameterList()
        var tests: [String] = []
        for (name, column) in zip(unique.names, unique.columns) {
            let type = unique.table.column(name, of: unique.entity.name)?.type.sql ?? "text"
            let attribute = try layout.model.entity(named: row.object.entityName).property(named: name)
            let text: String? = if attribute.isAttribute {
                try ColumnValue.text(of: row.values[name] ?? stored?.values[name] ?? .null, attribute.attributeType)
            } else {
                (row.destinations[name] ?? stored?.destinations[name]).map { String($0.key) }
            }
            guard let text else { return [] }
            tests.append("t.\(column) = \(parameters.add(text, as: type))")
        }
        let names = SQLText.array(unique.entity.concreteDescendants.map { $0.name as String? })
        tests.append("t._entity = ANY(\(parameters.add(names, as: "text[]")))")
        let reader = RowReader(unique.table, layout)
        return try reader.rows(
            connection.execute(
                Statement(
                    "SELECT \(reader.columns()) FROM \(unique.table.name) t WHERE \(tests.joined(separator: " AND "))", parameters.values)))
    }
}
#endif
