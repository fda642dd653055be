#if Postgres
internal import Foundation
public import HornbeamModel

extension PostgresStore {
    /// Executes a batch as one statement. Returns nil if SQL cannot find exactly its objects, and if a value would be refused: the error then names
    /// the object, which the server does not.
    public func execute(_ batch: StoreBatch) throws -> StoreBatchAnswer? {
        let layout = try layout
        guard var answer = try execute(batch, layout) else { return nil }
        (answer.updated, answer.deleted) = (answer.updated.map(layout.outer), answer.deleted.map(layout.outer))
        return answer
    }

    private func execute(_ batch: StoreBatch, _ layout: StoreLayout) throws -> StoreBatchAnswer? {
        guard let statement = try BatchStatement(batch, layout, recordsHistory: keepsHistory) else { return nil }
        defer { trimHistory() }
        do {
            return try repeating { token, deadline -> StoreBatchAnswer? in
                do { return try run(statement, token, layout, deadline) } catch let error as PostgresError {
                    if error.state.hasPrefix("22") || error.state.hasPrefix("23") { return nil }
                    throw error
                }
            } isSaved: { token, deadline in
                try lending(until: deadline) { try committed(token, layout, $0) }
            }
        } catch is CustomStoreDoubt {
            throw HornbeamError(
                .storeOperationFailed,
                "The PostgreSQL server cannot be asked whether it has executed the batch, so this is unknown. Look at the objects before you execute "
                    + "the batch again.")
        }
    }

    private func run(_ statement: BatchStatement, _ token: UUID, _ layout: StoreLayout, _ deadline: Deadline) throws -> StoreBatchAnswer? {
        let notifications = pool.options.pollInterval == nil ? [layout.notification(nil)] : []
        let results = try pool.withConnection(until: deadline, isCancellable: true) { connection in
            try connection.execute(
                all: [Statement("BEGIN"), pool.options.lockLimit, try statement.statement(token, source), Statement("COMMIT")], then: notifications)
        }
        return Self.answer(results[2])
    }

    private func committed(_ token: UUID, _ layout: StoreLayout, _ connection: Connection) throws -> StoreBatchAnswer? {
        guard try isSaved(token, layout, connection) else { return nil }
        return Self.answer(
            try connection.execute(Statement("SELECT changed, deleted FROM \(layout.saves) WHERE token = $1", [token.uuidString])))
    }

    private static func answer(_ result: QueryResult) -> StoreBatchAnswer {
        guard result.rowCount > 0 else { return StoreBatchAnswer() }
        return StoreBatchAnswer(updated: KeyList.keys(result[0, 0] ?? "") ?? [], deleted: KeyList.keys(result[0, 1] ?? "") ?? [])
    }
}

/// The statement of a batch: locks the objects in the order of their keys, changes them, and records the save.
private struct BatchStatement {
    private let batch: StoreBatch
    private let layout: StoreLayout
    private let table: TableLayout
    private let change: String
    private var parameters: [String?]
    private let recordsHistory: Bool

    /// Nil if SQL cannot find exactly the objects.
    init?(_ batch: StoreBatch, _ layout: StoreLayout, recordsHistory: Bool) throws {
        self.recordsHistory = recordsHistory
        // A window could have fewer objects after waiting for locks.
        guard batch.query.request.fetchLimit == 0, batch.query.request.fetchOffset == 0 else { return nil }
        var request = batch.query.request
        request.sortDescriptors = []
        var translator = QueryTranslator(request, batch.query.entity, excluding: batch.query.excludedKeys, layout)
        guard let (reader, select) = try translator.exact() else { return nil }
        self.batch = batch
        self.layout = layout
        parameters = select.parameters
        let table = reader.table
        self.table = table
        // A key that is too large ends the statement with a division by zero. Hornbeam then reads the row, and reports it.
        let keyTest = table.isMapped ? " AND 1 / (b.\(table.id) BETWEEN 1 AND \(StoreLayout.rowKeyMax))::int = 1" : ""
        let found = """
            (\(select.sql) FOR UPDATE OF t) AS f WHERE b.\(table.id) = f.\(table.id)\(StoreLayout.sameShard(table, "b", table, "f"))\(keyTest) \
            RETURNING b.\(table.id) AS _id, \(table.entity(of: "b")) AS _entity
            """
        guard case .update(let assignments) = batch.action else {
            change = "DELETE FROM \(reader.table.name) AS b USING \(found)"
            return
        }
        var sets = ["\(table.version) = b.\(table.version) + 1"]
        for assignment in assignments {
            guard let column = reader.table.column(assignment.property.name, of: batch.query.entity.name), column.name != table.shard?.name else { return nil }
            // The deferred check of the values would come after the entry of the history.
            if recordsHistory, layout.uniques.contains(where: { $0.table.name == reader.table.name && $0.columns.contains(column.name) }) { return nil }
            switch assignment.value {
            case .constant(let value):
                parameters.append(try column.text(of: value))
                sets.append("\(column.name) = $\(parameters.count)::\(column.parameterType)")
            case .sum(let name, let number):
                guard let source = reader.table.column(name, of: batch.query.entity.name) else { return nil }
                parameters.append(String(number))
                sets.append("\(column.name) = b.\(source.name)::bigint + $\(parameters.count)::bigint")
            }
        }
        change = "UPDATE \(reader.table.name) AS b SET \(sets.joined(separator: ", ")) FROM \(found)"
    }

    func statement(_ token: UUID, _ source: UUID) throws -> Statement {
        let first = parameters.count + 1
        let values = (first ..< first + 4).map { "$\($0)" }
        let keys = "string_agg(_id || ':' || _entity, ',')"
        let isDelete = if case .delete = batch.action { true } else { false }
        let names = [batch.author.map(ColumnValue.escaped), batch.contextName.map(ColumnValue.escaped)]
        var all = parameters + [token.uuidString, source.uuidString] + names
        let sql = """
            WITH c AS (\(change))\(try history(isDelete: isDelete, &all)) INSERT INTO \(layout.saves) (token, source, author, context, changed, deleted) \
            SELECT \(values[0])::uuid, \(values[1])::uuid, \(values[2])::text, \(values[3])::text, \(isDelete ? "''" : keys), \
            \(isDelete ? keys : "''") FROM c HAVING count(*) > 0 RETURNING changed, deleted
            """
        return Statement(sql, all)
    }

    /// A part of the statement that records the batch in the history.
    private func history(isDelete: Bool, _ parameters: inout [String?]) throws -> String {
        guard recordsHistory else { return "" }
        let entry = StoreHistoryEntry(isBatch: true, author: batch.author, contextName: batch.contextName)
        let first = parameters.count + 1
        parameters += entry.origin
        let values = zip(first..., ["text", "text", "int", "text"]).map { "$\($0)::\($1)" }.joined(separator: ", ")
        var group = "'entity', g._entity, \(isDelete ? "'deleted'" : "'updated'"), g.keys"
        if case .update(let assignments) = batch.action {
            let names = assignments.sorted { $0.property.index < $1.property.index }.map(\.property.name)
            parameters.append(String(decoding: try JSONEncoder().encode(names), as: UTF8.self))
            group += ", 'properties', $\(parameters.count)::json"
        }
        return """
            , h AS (INSERT INTO \(layout.history.entries) (\(StoreHistoryEntry.columns)) \
            SELECT TRUE, \(values), json_agg(json_build_object(\(group)) ORDER BY g.first) FROM (SELECT _entity, min(_id) AS first, \
            json_agg(_id + \(layout.offset(of: table)) ORDER BY _id) AS keys FROM c GROUP BY _entity) g HAVING count(*) > 0)
            """
    }
}
#endif
