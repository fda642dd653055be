#if Postgres
internal import HornbeamModel

/// The totals of a column over rows, as Hornbeam computes them. NaN is before all numbers. Sums of doubles depend on the order of the rows, so they have
/// no form in SQL.
struct Total {
    private let sql: String
    private let type: AttributeType
    /// The kind of the least and the greatest value.
    let kind: SQLOperand.Kind

    /// Nil for values without an order.
    init?(_ value: QueryValue) {
        guard let operand = ConditionTranslator.operand(value), operand.kind != .reference else { return nil }
        (sql, type, kind) = (operand.sql, value.type, operand.kind)
    }

    var minimum: String? {
        switch kind {
        case .integer: "min(\(sql))"
        case .text, .uri: "min(\(sql) COLLATE \"C\")"
        case .double, .decimal: "CASE WHEN bool_or(\(sql) = 'NaN') THEN 'NaN' ELSE min(\(sql)) END"
        case .date, .uuid, .bytes, .reference, .null: nil
        }
    }

    var maximum: String? {
        switch kind {
        case .integer: "max(\(sql))"
        case .text, .uri: "max(\(sql) COLLATE \"C\")"
        case .double, .decimal: "coalesce(max(\(sql)) FILTER (WHERE \(sql) <> 'NaN'), max(\(sql)))"
        case .date, .uuid, .bytes, .reference, .null: nil
        }
    }

    /// The sum of integers of 32 bits or less, which cannot overflow.
    var smallSum: String? { isSmall ? "coalesce(sum(\(sql)), 0)" : nil }

    var smallAverage: String? { isSmall ? "sum(\(sql))::float8 / NULLIF(count(\(sql)), 0)" : nil }

    private var isSmall: Bool { type == .integer16 || type == .integer32 || type == .boolean }

    /// The sum of integers or decimals of a group, and the condition under which Hornbeam's sum can be another one.
    func sum(isDistinct: Bool) -> (sql: String, doubt: String?)? {
        let argument = isDistinct ? "DISTINCT \(sql)" : sql
        switch kind {
        case .integer: return ("sum(\(argument))", isSmall ? nil : overflow)
        case .decimal:
            // A decimal of Foundation has at least 38 digits.
            return ("sum(\(argument))", "coalesce(max(scale(\(sql))), 0) + length(trunc(coalesce(sum(abs(\(sql))), 0))::text) > 38")
        default: return nil
        }
    }

    /// The average of integers of a group, and the condition under which Hornbeam's average can be another one.
    func average(isDistinct: Bool) -> (sql: String, doubt: String?)? {
        guard kind == .integer else { return nil }
        let argument = isDistinct ? "DISTINCT \(sql)" : sql
        return ("sum(\(argument))::float8 / NULLIF(count(\(argument)), 0)", isSmall ? nil : overflow)
    }

    /// True if a part of the sum can exceed 64 bits. Hornbeam then continues with a double.
    private var overflow: String { "coalesce(sum(abs((\(sql))::numeric)), 0) >= 9223372036854775808" }
}
#endif
