#if Postgres
internal import HornbeamModel

/// Translates a query into SQL.
struct QueryTranslator {
    private let request: FetchDescription
    private let entity: EntityDescription
    private let excluded: Set<UInt64>
    private let layout: StoreLayout
    private var condition: ConditionTranslator
    /// The condition of the request.
    private let wanted: StoreCondition

    init(_ request: FetchDescription, _ entity: EntityDescription, excluding: Set<UInt64>, _ layout: StoreLayout) {
        self.request = request
        self.entity = entity
        excluded = excluding
        self.layout = layout
        condition = ConditionTranslator(layout, entity)
        wanted = StoreCondition(request.predicate)
    }

    /// The statement that reads the results in their order; nil if SQL cannot find exactly these.
    mutating func exact() throws -> (RowReader, Statement)? {
        guard let test = exactTest(), let order = try order() else { return nil }
        let window = window()
        return try select(test, " ORDER BY \(order)\(window)")
    }

    /// The statement that counts the results; nil if SQL cannot find exactly these.
    mutating func exactCount() throws -> Statement? {
        guard let test = exactTest() else { return nil }
        let table = try layout.table(of: entity.name)
        let filter = try filter(test)
        let window = window()
        let sql = window.isEmpty
            ? "SELECT count(*) FROM \(table.name) t\(condition.joins)\(filter)"
            : "SELECT count(*) FROM (SELECT 1 FROM \(table.name) t\(condition.joins)\(filter)\(window)) found"
        return Statement(sql, condition.parameters.values)
    }

    /// The statement that reads values of the results in their order; nil if SQL cannot find exactly these.
    mutating func exactValues(_ paths: [[String]]) throws -> (GroupColumns, Statement)? {
        guard let test = exactTest(), let order = try order() else { return nil }
        var columns = GroupColumns(layout)
        for path in paths {
            guard let value = condition.value(path, in: 0), columns.add(value) else { return nil }
        }
        let filter = try filter(test)
        let table = try layout.table(of: entity.name)
        let window = window()
        let sql = """
            SELECT \(columns.texts.joined(separator: ", ")) FROM \(table.name) t\(condition.joins)\(filter) ORDER BY \(order)\(window)
            """
        return (columns, Statement(sql, condition.parameters.values))
    }

    /// The statement that makes groups; nil if SQL makes other ones.
    mutating func exactGroups(_ grouping: StoreGrouping) throws -> (GroupColumns, Statement)? {
        guard let test = exactTest() else { return nil }
        var columns = GroupColumns(layout)
        for key in grouping.keys {
            guard let value = condition.value(key, in: 0), columns.addKey(value) else { return nil }
        }
        for total in grouping.totals {
            let value = total.path.flatMap { condition.value($0, in: 0) }
            guard columns.add(total, value) else { return nil }
        }
        let table = try layout.table(of: entity.name)
        let filter = try filter(test)
        let places = (1 ..< columns.keyCount + 1).map(String.init).joined(separator: ", ")
        let groups = places.isEmpty ? "" : " GROUP BY \(places)"
        return (columns, Statement("SELECT \(columns.groupSQL(table)) FROM \(table.name) t\(condition.joins)\(filter)\(groups)", condition.parameters.values))
    }

    /// The WHERE clause of the results, and its parameters; nil if SQL cannot find exactly these without other tables.
    mutating func exactCondition() throws -> (sql: String, parameters: [String?])? {
        let before = condition
        if let test = exactTest(), condition.joins.isEmpty {
            return (try filter(test), condition.parameters.values)
        }
        condition = before
        return nil
    }

    /// The statement that reads the results and perhaps more rows.
    mutating func superset() throws -> (RowReader, Statement) {
        condition.allowsCalculations = false
        let before = condition
        let test = condition.superset(wanted)
        if condition.parameters.fit { return try select(test, "") }
        condition = before
        return try select("TRUE", "")
    }

    /// The condition in SQL; nil if SQL has no equivalent one, or if it has too many constants for a statement.
    private mutating func exactTest() -> String? {
        guard let test = condition.exact(wanted), condition.parameters.fit else { return nil }
        return test
    }

    private mutating func select(_ test: String, _ end: String) throws -> (RowReader, Statement) {
        let reader = RowReader(try layout.table(of: entity.name), layout)
        let filter = try filter(test)
        let sql = "SELECT \(try reader.columns()) FROM \(reader.table.name) t\(condition.joins)\(filter)\(end)"
        var statement = Statement(sql, condition.parameters.values)
        statement.hasBinaryResult = true
        return (reader, statement)
    }

    private mutating func filter(_ test: String) throws -> String {
        var parts: [String] = []
        let entities = request.includesSubentities ? entity.concreteDescendants : [entity]
        let table = try layout.table(of: entity.name)
        if Set(table.root.concreteDescendants.map(\.name)) != Set(entities.map(\.name)) {
            let names = SQLText.array(entities.map { $0.name as String? })
            parts.append("\(table.entity(of: "t")) = ANY(\(condition.parameters.add(names, as: "text[]")))")
        }
        if test != "TRUE" { parts.append(test) }
        let others = excluded.compactMap { layout.inner($0, in: table) }.sorted()
        if !others.isEmpty { parts.append("t.\(table.id) <> ALL(\(condition.parameters.add(SQLText.array(keys: others), as: "bigint[]")))") }
        return parts.isEmpty ? "" : " WHERE " + parts.joined(separator: " AND ")
    }

    /// The offset is a parameter, so that all pages have one text, which the server parses once. It then plans each page, because a plan for any offset
    /// assumes a tenth of the rows. The limit is part of the text: pages of one size differ in their offsets only, and first pages can keep a plan.
    private mutating func window() -> String {
        (request.fetchLimit > 0 ? " LIMIT \(request.fetchLimit)" : "")
            + (request.fetchOffset > 0 ? " OFFSET \(condition.parameters.add(String(request.fetchOffset), as: "bigint"))" : "")
    }

    /// The order by the sort criteria, then by key; nil if SQL has another order.
    private mutating func order() throws -> String? {
        let table = try layout.table(of: entity.name)
        var parts: [String] = []
        for sort in request.sortDescriptors {
            guard let value = condition.value(sort.keyPath.split(separator: ".").map(String.init), in: 0) else { return nil }
            // Missing values come first in ascending order, then NaN.
            let end = sort.isAscending ? "ASC NULLS FIRST" : "DESC NULLS LAST"
            switch value.type {
            case .string where sort.comparison == .localizedStandard, .composite, .objectID, .transformable, .undefined: return nil
            case .string where sort.comparison == .caseInsensitive:
                parts.append("\(TextComparison.folded(value.sql, .caseInsensitive, layout)) COLLATE \"C\" \(end)")
            case .string, .uri: parts.append("\(value.sql) COLLATE \"C\" \(end)")
            case .double, .float, .decimal: parts += ["(\(value.sql) <> 'NaN') \(end)", "\(value.sql) \(end)"]
            default: parts.append("\(value.sql) \(end)")
            }
        }
        return (parts + ["t.\(table.id)"]).joined(separator: ", ")
    }
}
#endif
