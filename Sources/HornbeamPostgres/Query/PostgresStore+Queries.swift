#if Postgres
internal import Foundation
public import HornbeamModel

extension PostgresStore {
    public func answer(_ query: StoreQuery) throws -> StoreAnswer? {
        var translator = QueryTranslator(query.request, query.entity, excluding: query.excludedKeys, try layout)
        switch query.kind {
        case .objects:
            guard let (reader, statement) = try translator.exact() else { return nil }
            let rows = try reader.rows(try withConnection { try $0.execute(statement) })
            return .objects(rows.map(\.object), rows: rows)
        case .count:
            guard let statement = try translator.exactCount() else { return nil }
            let result = try withConnection { try $0.execute(statement) }
            return .count(result.value.flatMap { Int($0) } ?? 0)
        case .groups:
            guard let grouping = query.grouping, let (columns, statement) = try translator.exactGroups(grouping) else { return nil }
            return .groups(try columns.rows(try withConnection { try $0.execute(statement) }))
        }
    }

    /// The SQL of the query and the server's plan, and the parts that Hornbeam applies to the rows.
    public func explain(_ query: StoreQuery) throws -> String {
        let layout = try layout
        var translator = QueryTranslator(query.request, query.entity, excluding: query.excludedKeys, layout)
        if let (_, statement) = try translator.exact() { return try text("by the server", statement, query) }
        translator = QueryTranslator(query.request, query.entity, excluding: query.excludedKeys, layout)
        let (_, statement) = try translator.superset()
        var parts = ["condition"]
        if !query.request.sortDescriptors.isEmpty { parts.append("order") }
        if query.request.fetchLimit > 0 || query.request.fetchOffset > 0 { parts.append("offset and limit") }
        return try text("more rows by the server", statement, query) + "\n  here: \(parts.joined(separator: ", "))"
    }

    private func text(_ part: String, _ statement: Statement, _ query: StoreQuery) throws -> String {
        let plan = try withConnection { try $0.execute(Statement("EXPLAIN \(statement.sql)", statement.parameters)) }
        let lines = (0 ..< plan.rowCount).map { "    " + (plan[$0, 0] ?? "") }
        return "fetch \(query.entity.name)\n  \(part): \(statement.sql)\n  plan of the server:\n" + lines.joined(separator: "\n")
    }
}
#endif
