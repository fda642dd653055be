#if Postgres
internal import Foundation
public import HornbeamModel

extension PostgresStore {
    /// Nil also for a query whose calculations the server cannot finish, such as a sum with more than 64 bits.
    public func answer(_ query: StoreQuery) throws -> StoreAnswer? {
        let layout = try layout
        var translator = QueryTranslator(query.request, query.entity, excluding: query.excludedKeys, layout)
        switch query.kind {
        case .objects:
            guard let (reader, statement) = try translator.exact() else { return nil }
            return try calculated(statement).map { try reader.answer($0, query) }
        case .count:
            guard let statement = try translator.exactCount() else { return nil }
            return try calculated(statement).map { .count($0.value.flatMap { Int($0) } ?? 0) }
        case .values:
            guard let (columns, statement) = try translator.exactValues(query.paths) else { return nil }
            return try calculated(statement).map { .values(try columns.rows($0)) }
        case .groups:
            guard let grouping = query.grouping, let (columns, statement) = try translator.exactGroups(grouping) else { return nil }
            return try calculated(statement).flatMap(columns.groups).map { .groups($0) }
        }
    }

    /// Nil if the server cannot finish a calculation.
    private func calculated(_ statement: Statement) throws -> QueryResult? {
        try translated {
            do { return try lending(isCancellable: true) { try $0.execute(statement) } } catch let error as PostgresError where error.isCalculation {
                return nil
            }
        }
    }

    /// The SQL of the query and the server's plan, and the parts that Hornbeam applies to the rows.
    public func explain(_ query: StoreQuery) throws -> String {
        let layout = try layout
        var translator = QueryTranslator(query.request, query.entity, excluding: query.excludedKeys, layout)
        if let statement = try exactStatement(query, &translator) { return try text("by the server", statement, query) }
        translator = QueryTranslator(query.request, query.entity, excluding: query.excludedKeys, layout)
        let (_, statement) = try translator.superset()
        var parts = ["condition"]
        if query.kind != .objects { parts.append(query.kind == .groups ? "groups" : "values") }
        if !query.request.sortDescriptors.isEmpty { parts.append("order") }
        if query.request.fetchLimit > 0 || query.request.fetchOffset > 0 { parts.append("offset and limit") }
        return try text("more rows by the server", statement, query) + "\n  here: \(parts.joined(separator: ", "))"
    }

    private func exactStatement(_ query: StoreQuery, _ translator: inout QueryTranslator) throws -> Statement? {
        switch query.kind {
        case .objects: try translator.exact()?.1
        case .count: try translator.exactCount()
        case .values: try translator.exactValues(query.paths)?.1
        case .groups: try query.grouping.flatMap { try translator.exactGroups($0)?.1 }
        }
    }

    private func text(_ part: String, _ statement: Statement, _ query: StoreQuery) throws -> String {
        let plan = try withConnection { try $0.execute(Statement("EXPLAIN \(statement.sql)", statement.parameters)) }
        let lines = (0 ..< plan.rowCount).map { "    " + (plan[$0, 0] ?? "") }
        return "fetch \(query.entity.name)\n  \(part): \(statement.sql)\n  plan of the server:\n" + lines.joined(separator: "\n")
    }
}
#endif
