#if Postgres
internal import Foundation
public import HornbeamModel

extension PostgresStore {
    /// Executes a batch as one statement. Returns nil if SQL cannot find exactly its objects, and if a value would be refused: the error then names
    /// the object, which the server does not.
    public func execute(_ batch: StoreBatch) throws -> StoreBatchAnswer? {
        let layout = try layout
        guard let statement = try BatchStatement(batch, layout) else { return nil }
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
                "The PostgreSQL server is away, and whether it has executed the batch is unknown. Look at the objects before you execute the batch again.")
        }
    }

    private func run(_ statement: BatchStatement, _ token: UUID, _ layout: StoreLayout, _ deadline: Deadline) throws -> StoreBatchAnswer? {
        // The payload is no source: this process reads the changed rows too, if it waits for notifications.
        let notification = Statement(
            "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')", [layout.channel])
        let results = try pool.withConnection(until: deadline, isCancellable: true) { connection in
            try connection.execute(all: [Statement("BEGIN"), statement.statement(token, source), Statement("COMMIT")], then: [notification])
        }
        return Self.answer(results[1])
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
    private let change: String
    private var parameters: [String?]

    /// Nil if SQL cannot find exactly the objects.
    init?(_ batch: StoreBatch, _ layout: StoreLayout) throws {
        // A window could have fewer objects after waiting for locks.
        guard batch.query.request.fetchLimit == 0, batch.query.request.fetchOffset == 0 else { return nil }
        var request = batch.query.request
        request.sortDescriptors = []
        var translator = QueryTranslator(request, batch.query.entity, excluding: batch.query.excludedKeys, layout)
        guard let (reader, select) = try translator.exact() else { return nil }
        self.batch = batch
        self.layout = layout
        parameters = select.parameters
        let found = "(\(select.sql) FOR UPDATE OF t) AS f WHERE b._id = f._id RETURNING b._id, b._entity"
        guard case .update(let assignments) = batch.action else {
            change = "DELETE FROM \(reader.table.name) AS b USING \(found)"
            return
        }
        var sets = ["_version = b._version + 1"]
        for assignment in assignments {
            guard let column = reader.table.column(assignment.property.name, of: batch.query.entity.name) else { return nil }
            switch assignment.value {
            case .constant(let value):
                parameters.append(try ColumnValue.text(of: value, column.property.attributeType))
                sets.append("\(column.name) = $\(parameters.count)::\(column.type.sql)")
            case .sum(let name, let number):
                guard let source = reader.table.column(name, of: batch.query.entity.name) else { return nil }
                parameters.append(String(number))
                sets.append("\(column.name) = b.\(source.name)::bigint + $\(parameters.count)::bigint")
            }
        }
        change = "UPDATE \(reader.table.name) AS b SET \(sets.joined(separator: ", ")) FROM \(found)"
    }

    func statement(_ token: UUID, _ source: UUID) -> Statement {
        let first = parameters.count + 1
        let values = (first ..< first + 4).map { "$\($0)" }
        let keys = "string_agg(\(KeyList.expression("_id", "_entity", layout)), ',')"
        let isDelete = if case .delete = batch.action { true } else { false }
        let sql = """
            WITH c AS (\(change)) INSERT INTO \(layout.saves) (token, source, author, context, changed, deleted) \
            SELECT \(values[0])::uuid, \(values[1])::uuid, \(values[2])::text, \(values[3])::text, \(isDelete ? "''" : keys), \
            \(isDelete ? keys : "''") FROM c HAVING count(*) > 0 RETURNING changed, deleted
            """
        let names = [batch.author.map(ColumnValue.escaped), batch.contextName.map(ColumnValue.escaped)]
        return Statement(sql, parameters + [token.uuidString, source.uuidString] + names)
    }
}
#endif
