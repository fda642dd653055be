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
        guard var statement = try BatchStatement(batch, layout, recordsHistory: keepsHistory) else { return nil }
        defer { trimHistory() }
        var isRepeated = false
        do {
            return try repeating { token, deadline -> StoreBatchAnswer? in
                // After a deadlock: locks in the order of keys wait for those of saves in one direction, and cost a fifth of the time.
                if isRepeated, let ordered = try BatchStatement(batch, layout, recordsHistory: keepsHistory, locksInOrder: true) { statement = ordered }
                isRepeated = true
                do { return try run(statement, token, layout, deadline) } catch let error as PostgresError {
                    if error.state.hasPrefix("22") || error.state.hasPrefix("23") { return nil }
                    throw error
                }
            } isSaved: { token, deadline in
                try lendingToWrite(until: deadline) { try committed(token, layout, $0) }
            }
        } catch is CustomStoreDoubt {
            throw HornbeamError(
                .storeOperationFailed,
                "The PostgreSQL server could not be queried, so it is unknown whether it has executed the batch. Look at the objects before you "
                    + "execute the batch again.")
        }
    }

    private func run(_ statement: BatchStatement, _ token: UUID, _ layout: StoreLayout, _ deadline: Deadline) throws -> StoreBatchAnswer? {
        let notifications = pool.options.pollInterval == nil ? [layout.notification(nil)] : []
        let results = try pool.withConnection(until: deadline, isCancellable: true) { connection in
            try connection.execute(
                all: [Statement("BEGIN"), pool.options.lockLimit, try statement.statement(token, source), Statement("COMMIT")], then: notifications)
        }
        return try statement.answer(results[2])
    }

    private func committed(_ token: UUID, _ layout: StoreLayout, _ connection: Connection) throws -> StoreBatchAnswer? {
        guard try isSaved(token, layout, connection) else { return nil }
        let found = try connection.execute(Statement("SELECT changed, deleted FROM \(layout.saves) WHERE token = $1", [token.uuidString]))
        guard found.rowCount > 0 else { return StoreBatchAnswer() }
        return StoreBatchAnswer(updated: KeyList.keys(found[0, 0] ?? "") ?? [], deleted: KeyList.keys(found[0, 1] ?? "") ?? [])
    }
}

/// The statement of a batch: changes the objects, records the save, and returns the keys and the versions of the objects.
private struct BatchStatement {
    private let batch: StoreBatch
    private let layout: StoreLayout
    private let table: TableLayout
    private let change: String
    private var parameters: [String?]
    private let recordsHistory: Bool

    /// Nil if SQL cannot find exactly the objects.
    ///
    /// - Parameter locksInOrder: True to lock the objects in the order of their keys before they are changed.
    init?(_ batch: StoreBatch, _ layout: StoreLayout, recordsHistory: Bool, locksInOrder: Bool = false) throws {
        self.recordsHistory = recordsHistory
        // A window could have fewer objects after waiting for locks.
        guard batch.query.request.fetchLimit == 0, batch.query.request.fetchOffset == 0 else { return nil }
        var request = batch.query.request
        request.sortDescriptors = []
        var translator = QueryTranslator(request, batch.query.entity, excluding: batch.query.excludedKeys, layout)
        let table = try layout.table(of: batch.query.entity.name)
        guard let found = try Self.found(&translator, in: table, locksInOrder: locksInOrder) else { return nil }
        self.batch = batch
        self.layout = layout
        self.table = table
        parameters = found.parameters
        guard case .update(let assignments) = batch.action else {
            change = "DELETE FROM \(table.name) AS t\(found.source.isEmpty ? "" : " USING \(found.source)")\(found.test)"
            return
        }
        var sets = ["\(table.version) = t.\(table.version) + 1"]
        for assignment in assignments {
            guard let column = table.column(assignment.property.name, of: batch.query.entity.name), column.name != table.shard?.name else { return nil }
            // The deferred check of the values would come after the entry of the history.
            if recordsHistory, layout.uniques.contains(where: { $0.table.name == table.name && $0.columns.contains(column.name) }) { return nil }
            switch assignment.value {
            case .constant(let value):
                parameters.append(try column.text(of: value))
                sets.append("\(column.name) = $\(parameters.count)::\(column.parameterType)")
            case .sum(let name, let number):
                guard let source = table.column(name, of: batch.query.entity.name) else { return nil }
                parameters.append(String(number))
                sets.append("\(column.name) = t.\(source.name)::bigint + $\(parameters.count)::bigint")
            }
        }
        change = "UPDATE \(table.name) AS t SET \(sets.joined(separator: ", "))\(found.source.isEmpty ? "" : " FROM \(found.source)")\(found.test)"
    }

    /// The objects that the statement changes.
    private struct Found {
        /// A subselect that finds and locks the objects; empty if the condition alone finds them.
        let source: String
        /// The condition, and the returned columns.
        let test: String
        let parameters: [String?]
    }

    private static func found(_ translator: inout QueryTranslator, in table: TableLayout, locksInOrder: Bool) throws -> Found? {
        let result = " RETURNING t.\(table.id) AS _id, \(table.entity(of: "t")) AS _entity, t.\(table.version) AS _version"
        if !locksInOrder, !table.isMapped, table.shard == nil, let condition = try translator.exactCondition() {
            return Found(source: "", test: condition.sql + result, parameters: condition.parameters)
        }
        guard let (_, select) = try translator.exact() else { return nil }
        // A key that is too large ends the statement with a division by zero. Hornbeam then reads the row, and reports it.
        let keyTest = table.isMapped ? " AND 1 / (t.\(table.id) BETWEEN 1 AND \(StoreLayout.rowKeyMax))::int = 1" : ""
        return Found(
            source: "(\(select.sql) FOR UPDATE OF t) AS f",
            test: " WHERE t.\(table.id) = f.\(table.id)\(StoreLayout.sameShard(table, "t", table, "f"))\(keyTest)\(result)", parameters: select.parameters)
    }

    /// The objects that the server has changed. Triggers of existing tables can change more than the assignments, so their versions do not show
    /// the values of the rows.
    func answer(_ result: QueryResult) throws -> StoreBatchAnswer {
        var (keys, versions): ([CustomStoreKey], [UInt64]) = ([], [])
        keys.reserveCapacity(result.rowCount)
        versions.reserveCapacity(result.rowCount)
        for row in 0 ..< result.rowCount {
            guard let key = result.integer(row, 0), let name = result[row, 1], let version = result.integer(row, 2), key > 0, version > 0 else {
                throw RowReader.invalidRow(of: table)
            }
            keys.append(CustomStoreKey(name, UInt64(key)))
            versions.append(UInt64(version))
        }
        if case .delete = batch.action { return StoreBatchAnswer(deleted: keys) }
        return StoreBatchAnswer(updated: keys, versions: table.isMapped ? [] : versions)
    }

    func statement(_ token: UUID, _ source: UUID) throws -> Statement {
        let first = parameters.count + 1
        let values = (first ..< first + 4).map { "$\($0)" }
        let keys = "string_agg(_id || ':' || _entity, ',')"
        let isDelete = if case .delete = batch.action { true } else { false }
        let names = [batch.author.map(ColumnValue.escaped), batch.contextName.map(ColumnValue.escaped)]
        var all = parameters + [token.uuidString, source.uuidString] + names
        let sql = """
            WITH c AS (\(change))\(try history(isDelete: isDelete, &all)), s AS (\
            INSERT INTO \(layout.saves) (token, source, author, context, changed, deleted) \
            SELECT \(values[0])::uuid, \(values[1])::uuid, \(values[2])::text, \(values[3])::text, \(isDelete ? "''" : keys), \
            \(isDelete ? keys : "''") FROM c HAVING count(*) > 0) SELECT _id, _entity, _version FROM c
            """
        var statement = Statement(sql, all)
        statement.hasBinaryResult = true
        return statement
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
