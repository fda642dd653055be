#if Postgres
internal import Foundation
internal import HornbeamModel

/// Comparisons of a column of numbers with a constant of any numeric type. Numbers compare by value; NaN equals no number and has no order.
struct NumberComparison {
    private let sql: String
    private let type: AttributeType

    init(_ sql: String, _ type: AttributeType) {
        self.sql = type == .boolean ? "(\(sql))::int" : sql
        self.type = type
    }

    private var isInteger: Bool { type.integerRange != nil || type == .boolean }

    /// Nil if SQL compares in another way.
    func sql(_ comparator: StoreComparison.Operator, _ constant: PropertyValue, _ parameters: inout ParameterList) -> String? {
        guard let sign = comparator.sign else { return nil }
        switch constant {
        case .bool(let flag): return compare(sign, .int(flag ? 1 : 0), &parameters)
        case .int, .double, .decimal: return compare(sign, constant, &parameters)
        default: return nil
        }
    }

    private func compare(_ sign: String, _ constant: PropertyValue, _ parameters: inout ParameterList) -> String? {
        switch constant {
        case .int(let number):
            if isInteger { return "\(sql) \(sign) \(parameters.add(String(number), as: "bigint"))" }
            if type == .decimal { return guarded("\(sql) \(sign) \(parameters.add(String(number), as: "numeric"))", sign) }
            guard Double(exactly: number) != nil else { return nil }
            return guarded("\(sql)::float8 \(sign) \(parameters.add(String(number), as: "float8"))", sign)
        case .double(let number):
            if number.isNaN { return "FALSE" }
            if isInteger {
                // Exact, also beyond the integers that a double can represent.
                guard number.isFinite else { return nil }
                return "\(sql)::numeric \(sign) \(parameters.add(exactDigits(number), as: "numeric"))"
            }
            return guarded("\(sql)::float8 \(sign) \(parameters.add(ColumnValue.text(of: number), as: "float8"))", sign)
        case .decimal(let number):
            if number.isNaN { return "FALSE" }
            if isInteger { return "\(sql)::numeric \(sign) \(parameters.add(number.description, as: "numeric"))" }
            if type == .decimal { return guarded("\(sql) \(sign) \(parameters.add(number.description, as: "numeric"))", sign) }
            return guarded("\(sql)::float8 \(sign) \(parameters.add(ColumnValue.text(of: number.nearestDouble), as: "float8"))", sign)
        default: return nil
        }
    }

    private func guarded(_ test: String, _ sign: String) -> String { Self.guarded(test, sql, sign) }

    /// For the server, NaN is greater than all numbers.
    static func guarded(_ test: String, _ sql: String, _ sign: String?) -> String {
        sign?.hasPrefix(">") ?? false ? "(\(test) AND \(sql) <> 'NaN')" : test
    }

    /// All decimal digits of a finite double, in plain notation.
    private func exactDigits(_ number: Double) -> String { String(format: "%.1074f", number) }
}
#endif
