#if Postgres
internal import HornbeamModel

/// Translates a request into SQL.
struct QueryTranslator {
    private let request: FetchDescription
    private let entity: EntityDescription
    private let excluded: Set<UInt64>
    private let layout: StoreLayout
    private var condition: ConditionTranslator

    init(_ request: FetchDescription, _ entity: EntityDescription, excluding: Set<UInt64>, _ layout: StoreLayout) {
        self.request = request
        self.entity = entity
        excluded = excluding
        self.layout = layout
        condition = ConditionTranslator(layout)
    }

    /// The statement that reads the results in their order; nil if SQL cannot find exactly these.
    mutating func exact() throws -> (RowReader, Statement)? {
        guard let test = condition.exact(StoreCondition(request.predicate), of: entity, "t"), let order = order() else { return nil }
        return try select(test, " ORDER BY \(order)\(window())")
    }

    /// The statement that counts the results; nil if SQL cannot find exactly these.
    mutating func exactCount() throws -> Statement? {
        guard let test = condition.exact(StoreCondition(request.predicate), of: entity, "t") else { return nil }
        let table = try layout.table(of: entity.name)
        let filter = filter(test)
        let window = window()
        let sql = window.isEmpty
            ? "SELECT count(*) FROM \(table.name) t\(condition.joins)\(filter)"
            : "SELECT count(*) FROM (SELECT 1 FROM \(table.name) t\(condition.joins)\(filter)\(window)) found"
        return Statement(sql, condition.parameters.values)
    }

    /// The statement that makes groups; nil if SQL makes other ones.
    mutating func exactGroups(_ grouping: StoreGrouping) throws -> (GroupColumns, Statement)? {
        guard let test = condition.exact(StoreCondition(request.predicate), of: entity, "t") else { return nil }
        var columns = GroupColumns()
        for column in grouping.columns {
            guard columns.add(column.value, value(of: column.value)) else { return nil }
        }
        var keys: [String] = []
        var order: [String] = []
        for key in grouping.keys {
            guard let value = condition.value(key, of: entity, "t"), GroupColumns.isKey(value.type) else { return nil }
            keys.append(value.sql)
        }
        for sort in request.sortDescriptors {
            guard let value = condition.value(sort.keyPath.split(separator: ".").map(String.init), of: entity, "t") else { return nil }
            guard value.type != .string || sort.comparison == .standard else { return nil }
            let collation = [.string, .uri].contains(value.type) ? " COLLATE \"C\"" : ""
            order.append(value.sql + collation + (sort.isAscending ? " ASC NULLS FIRST" : " DESC NULLS LAST"))
        }
        let table = try layout.table(of: entity.name)
        let filter = filter(test)
        let sql = """
            SELECT \(columns.sql) FROM \(table.name) t\(condition.joins)\(filter) GROUP BY \(keys.joined(separator: ", ")) \
            ORDER BY \((order + ["min(t._id)"]).joined(separator: ", "))
            """
        return (columns, Statement(sql, condition.parameters.values))
    }

    private mutating func value(of column: StoreGrouping.Value) -> ConditionTranslator.Value? {
        switch column {
        case .count: nil
        case .key(let path), .countOf(let path), .minimum(let path), .maximum(let path), .sum(let path), .average(let path):
            condition.value(path, of: entity, "t")
        }
    }

    /// The statement that reads the results and perhaps more rows.
    mutating func superset() throws -> (RowReader, Statement) {
        let test = condition.superset(StoreCondition(request.predicate), of: entity, "t")
        return try select(test, "")
    }

    private mutating func select(_ test: String, _ end: String) throws -> (RowReader, Statement) {
        let reader = RowReader(try layout.table(of: entity.name), layout)
        let filter = filter(test)
        let sql = "SELECT \(try reader.columns()) FROM \(reader.table.name) t\(condition.joins)\(filter)\(end)"
        return (reader, Statement(sql, condition.parameters.values))
    }

    private mutating func filter(_ test: String) -> String {
        var parts: [String] = []
        let entities = request.includesSubentities ? entity.concreteDescendants : [entity]
        let inTable = try? layout.table(of: entity.name).root.concreteDescendants.map(\.name)
        if inTable.map({ Set($0) }) != Set(entities.map(\.name)) {
            let names = SQLText.array(entities.map { $0.name as String? })
            parts.append("t._entity = ANY(\(condition.parameters.add(names, as: "text[]")))")
        }
        if test != "TRUE" { parts.append(test) }
        if !excluded.isEmpty { parts.append("t._id <> ALL(\(condition.parameters.add(SQLText.array(keys: excluded.sorted()), as: "bigint[]")))") }
        return parts.isEmpty ? "" : " WHERE " + parts.joined(separator: " AND ")
    }

    private func window() -> String {
        (request.fetchLimit > 0 ? " LIMIT \(request.fetchLimit)" : "") + (request.fetchOffset > 0 ? " OFFSET \(request.fetchOffset)" : "")
    }

    /// The order by the sort criteria, then by key; nil if SQL has another order.
    private mutating func order() -> String? {
        var parts: [String] = []
        for sort in request.sortDescriptors {
            guard let value = condition.value(sort.keyPath.split(separator: ".").map(String.init), of: entity, "t") else { return nil }
            // Missing values come first in ascending order, then NaN.
            let end = sort.isAscending ? "ASC NULLS FIRST" : "DESC NULLS LAST"
            switch value.type {
            case .string where sort.comparison != .standard, .composite, .objectID, .transformable, .undefined: return nil
            case .string, .uri: parts.append("\(value.sql) COLLATE \"C\" \(end)")
            case .double, .float, .decimal: parts += ["(\(value.sql) <> 'NaN') \(end)", "\(value.sql) \(end)"]
            default: parts.append("\(value.sql) \(end)")
            }
        }
        return (parts + ["t._id"]).joined(separator: ", ")
    }
}
#endif
