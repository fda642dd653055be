#if Postgres
internal import HornbeamModel

/// The columns of a statement with groups, whose values are the same as Hornbeam's.
struct GroupColumns {
    private var texts: [String] = []
    private var types: [AttributeType] = []

    var sql: String { texts.joined(separator: ", ") }

    /// True for types whose equal values are identical, so that a group has one value. NaN, which equals no number, is not among them.
    static func isKey(_ type: AttributeType) -> Bool {
        type.integerRange != nil || [.boolean, .string, .uuid, .binary, .uri].contains(type)
    }

    /// Adds a column. Returns false if SQL computes another value.
    mutating func add(_ column: StoreGrouping.Value, _ value: ConditionTranslator.Value?) -> Bool {
        if column == .count {
            add("count(*)", .integer64)
            return true
        }
        guard let value, value.property?.isAttribute == true else { return false }
        switch column {
        case .key:
            guard Self.isKey(value.type) else { return false }
            add(value.sql, value.type)
        case .countOf: add("count(\(value.sql))", .integer64)
        case .minimum, .maximum:
            guard value.type.integerRange != nil || value.type == .string else { return false }
            let collation = value.type == .string ? " COLLATE \"C\"" : ""
            add("\(column.function)(\(value.sql)\(collation))", value.type)
        case .count, .sum, .average: return false
        }
        return true
    }

    private mutating func add(_ text: String, _ type: AttributeType) {
        texts.append(text)
        types.append(type)
    }

    func rows(_ result: QueryResult) throws -> [[PropertyValue]] {
        try (0 ..< result.rowCount).map { row in try types.enumerated().map { try ColumnValue.value(of: result[row, $0], $1) } }
    }
}

extension StoreGrouping.Value {
    /// The aggregate function of SQL.
    fileprivate var function: String { if case .minimum = self { "min" } else { "max" } }
}
#endif
