#if Postgres
internal import Foundation
internal import HornbeamModel

/// A value of SQL with the type by which it is compared.
struct SQLOperand {
    enum Kind {
        case null, integer, double, decimal, text, date, uuid, bytes, uri, reference

        var isNumeric: Bool { [.integer, .double, .decimal].contains(self) }
        /// True if NaN, which equals no value and has no order, is a value.
        var hasNaN: Bool { [.double, .decimal, .date].contains(self) }
    }

    let sql: String
    let kind: Kind
    /// True for a constant.
    var isConstant = false
    /// The entity of the object of a reference; nil if it is not known.
    var objectEntity: String?
}

// Comparisons of two expressions.

extension ConditionTranslator {
    /// Nil if SQL has no equivalent condition.
    mutating func comparison(_ comparison: StoreExpressionComparison) -> String? {
        if let simple = withConstant(comparison) { return self.comparison(simple.comparison, in: simple.scope) }
        if [comparison.left, comparison.right].contains(.constant(.null)), comparison.comparator.sign != nil, comparison.comparator != .equal { return "FALSE" }
        guard let left = operand(comparison.left), let right = operand(comparison.right) else { return nil }
        switch comparison.comparator {
        case .notEqual: return equality(left, right, comparison.options).map { "(\($0)) IS NOT TRUE" }
        case .equal: return equality(left, right, comparison.options)
        case .less, .lessOrEqual, .greater, .greaterOrEqual: return test(left, comparison.comparator, right, comparison.options)
        default: return nil
        }
    }

    /// A comparison of a key path with a constant, and the scope in which the key path starts; nil for other comparisons.
    private func withConstant(_ comparison: StoreExpressionComparison) -> (comparison: StoreComparison, scope: Int)? {
        switch (comparison.left, comparison.right) {
        case (.keyPath(let start, let path), .constant(let value)):
            return scope(start).map { (StoreComparison(path, comparison.comparator, value, options: comparison.options), $0) }
        case (.constant(let value), .keyPath(let start, let path)):
            guard let comparator = comparison.comparator.mirrored else { return nil }
            return scope(start).map { (StoreComparison(path, comparator, value, options: comparison.options), $0) }
        default: return nil
        }
    }

    func scope(_ start: StoreExpression.Start) -> Int? {
        switch start {
        case .object: 0
        case .variable(let name): variables[name]
        }
    }

    private func equality(_ left: SQLOperand, _ right: SQLOperand, _ options: FetchPredicate.Options) -> String? {
        if left.kind == .null { return right.kind == .null ? "TRUE" : "\(right.sql) IS NULL" }
        if right.kind == .null { return "\(left.sql) IS NULL" }
        guard let core = test(left, .equal, right, options) else { return nil }
        return left.isConstant || right.isConstant ? core : "(\(core)) OR (\(left.sql) IS NULL AND \(right.sql) IS NULL)"
    }

    /// A comparison of values that are not nil.
    private func test(
        _ left: SQLOperand, _ comparator: StoreComparison.Operator, _ right: SQLOperand, _ options: FetchPredicate.Options
    ) -> String? {
        guard let sign = comparator.sign else { return nil }
        if left.kind.isNumeric && right.kind.isNumeric { return numberTest(left, comparator, right) }
        guard left.kind == right.kind else { return nil }
        switch left.kind {
        case .text:
            guard comparator == .equal || !TextComparison.isLocalized(options) else { return nil }
            let texts = [left, right].map { TextComparison.folded($0.sql, options, layout) }
            return "\(texts[0]) COLLATE \"C\" \(sign) \(texts[1]) COLLATE \"C\""
        case .uri: return "\(left.sql) COLLATE \"C\" \(sign) \(right.sql) COLLATE \"C\""
        case .uuid, .bytes: return "\(left.sql) \(sign) \(right.sql)"
        case .date: return withoutNaN("\(left.sql) \(sign) \(right.sql)", left, right)
        case .reference:
            guard comparator == .equal else { return nil }
            return shareTable(left.objectEntity, right.objectEntity) ? "\(left.sql) = \(right.sql)" : "FALSE"
        case .null, .integer, .double, .decimal: return nil
        }
    }

    private func numberTest(_ left: SQLOperand, _ comparator: StoreComparison.Operator, _ right: SQLOperand) -> String? {
        guard let sign = comparator.sign else { return nil }
        switch (left.kind, right.kind) {
        case (.integer, .double): return withoutNaN(integerTest(left.sql, sign, right.sql), left, right)
        case (.double, .integer):
            guard let mirrored = comparator.mirrored?.sign else { return nil }
            return withoutNaN(integerTest(right.sql, mirrored, left.sql), left, right)
        case (.decimal, .double): return withoutNaN("(\(left.sql))::float8 \(sign) \(right.sql)", left, right)
        case (.double, .decimal): return withoutNaN("\(left.sql) \(sign) (\(right.sql))::float8", left, right)
        case (.integer, .decimal), (.decimal, .integer): return withoutNaN("(\(left.sql))::numeric \(sign) (\(right.sql))::numeric", left, right)
        default: return withoutNaN("\(left.sql) \(sign) \(right.sql)", left, right)
        }
    }

    /// A comparison of an integer with a double, exact also for integers that a conversion would round: such an integer is compared with a double that is
    /// an integer of 64 bits as integers, and every other double is far from it.
    private func integerTest(_ integer: String, _ sign: String, _ double: String) -> String {
        """
        CASE WHEN \(double) >= 9223372036854775808::float8 THEN (\(integer))::float8 * 0 \(sign) 1 \
        WHEN abs(\(double)) >= 9007199254740992::float8 AND \(double) >= (-9223372036854775808)::float8 THEN (\(integer)) \(sign) (\(double))::bigint \
        ELSE (\(integer))::float8 \(sign) \(double) END
        """
    }

    private func withoutNaN(_ test: String, _ operands: SQLOperand...) -> String {
        let guards = operands.filter { $0.kind.hasNaN && !$0.isConstant }.map { "\($0.sql) <> 'NaN'" }
        return guards.isEmpty ? test : "((\(test)) AND \(guards.joined(separator: " AND ")))"
    }

    // MARK: Operands

    mutating func operand(_ expression: StoreExpression) -> SQLOperand? {
        switch expression {
        case .constant(let value): return constant(value)
        case .keyPath(let start, let path): return scope(start).flatMap { value(path, in: $0) }.flatMap(Self.operand)
        case .aggregate(let function, let start, let members, let values):
            return scope(start).flatMap { aggregate(function, members, values, in: $0) }
        case .memberCount(let start, let path, let variable, let condition):
            return scope(start).flatMap { memberCount(path, variable, condition, in: $0) }
        case .arithmetic(let sign, let left, let right): return arithmetic(sign, left, right)
        }
    }

    private mutating func constant(_ value: PropertyValue) -> SQLOperand? {
        let (text, type, kind): (String?, String, SQLOperand.Kind)
        var objectEntity: String?
        switch value {
        case .null: return SQLOperand(sql: "NULL", kind: .null, isConstant: true)
        case .bool(let flag): (text, type, kind) = (flag ? "1" : "0", "bigint", .integer)
        case .int(let number): (text, type, kind) = (String(number), "bigint", .integer)
        case .double(let number):
            if number.isNaN { return nil }
            (text, type, kind) = (ColumnValue.text(of: number), "float8", .double)
        case .decimal(let number):
            if number.isNaN { return nil }
            (text, type, kind) = (number.description, "numeric", .decimal)
        case .string(let string): (text, type, kind) = (ColumnValue.escaped(string), "text", .text)
        case .date(let date):
            if date.timeIntervalSinceReferenceDate.isNaN { return nil }
            (text, type, kind) = (ColumnValue.text(of: date.timeIntervalSinceReferenceDate), "float8", .date)
        case .uuid(let uuid): (text, type, kind) = (uuid.uuidString, "uuid", .uuid)
        case .data: (text, type, kind) = (try? ColumnValue.text(of: value, .binary), "bytea", .bytes)
        case .uri(let url): (text, type, kind) = (ColumnValue.escaped(url.absoluteString), "text", .uri)
        case .objectID(let id):
            guard !id.isTemporaryID else { return nil }
            objectEntity = id.entityName
            // An object of another store equals none: keys are positive.
            (text, type, kind) = (id.storeIdentifier == layout.identifier ? String(layout.inner(id.customKey).key) : "-1", "bigint", .reference)
        case .array, .set, .dictionary: return nil
        }
        return SQLOperand(sql: parameters.add(text, as: type), kind: kind, isConstant: true, objectEntity: objectEntity)
    }

    static func operand(_ value: QueryValue) -> SQLOperand? {
        switch value.type {
        case .integer16, .integer32, .integer64: SQLOperand(sql: value.sql, kind: .integer)
        case .boolean: SQLOperand(sql: "(\(value.sql))::int", kind: .integer)
        case .double: SQLOperand(sql: value.sql, kind: .double)
        case .float: SQLOperand(sql: "(\(value.sql))::float8", kind: .double)
        case .decimal: SQLOperand(sql: value.sql, kind: .decimal)
        case .string: SQLOperand(sql: value.sql, kind: .text)
        case .date: SQLOperand(sql: value.sql, kind: .date)
        case .uuid: SQLOperand(sql: value.sql, kind: .uuid)
        case .binary: SQLOperand(sql: value.sql, kind: .bytes)
        case .uri: SQLOperand(sql: value.sql, kind: .uri)
        case .objectID: value.property?.isAttribute == true ? nil : SQLOperand(sql: value.sql, kind: .reference, objectEntity: value.objectEntity)
        default: nil
        }
    }

    /// Calculations with integers and doubles. The server stops at an overflow and at a division of a double by 0; Hornbeam then calculates itself.
    private mutating func arithmetic(_ sign: StoreExpression.Operator, _ left: StoreExpression, _ right: StoreExpression) -> SQLOperand? {
        guard allowsCalculations, let a = operand(left), let b = operand(right) else { return nil }
        let kind: SQLOperand.Kind
        switch (a.kind, b.kind) {
        case (.integer, .integer): kind = .integer
        case (.integer, .double), (.double, .integer), (.double, .double): kind = .double
        default: return nil
        }
        let type = kind == .integer ? "bigint" : "float8"
        let (x, y) = ("(\(a.sql))::\(type)", "(\(b.sql))::\(type)")
        switch sign {
        case .add: return SQLOperand(sql: "(\(x) + \(y))", kind: kind)
        case .subtract: return SQLOperand(sql: "(\(x) - \(y))", kind: kind)
        case .multiply: return SQLOperand(sql: "(\(x) * \(y))", kind: kind)
        case .divide: return SQLOperand(sql: kind == .integer ? "(\(x) / NULLIF(\(y), 0))" : "(\(x) / \(y))", kind: kind)
        }
    }

    // MARK: Members

    private mutating func memberCount(_ path: [String], _ variable: String, _ condition: StoreCondition, in scope: Int) -> SQLOperand? {
        guard let (members, rest) = divided(path, in: scope), rest.isEmpty, let found = self.members(members, in: scope) else { return nil }
        let outer = variables[variable]
        defer { variables[variable] = outer }
        variables[variable] = found.scope
        guard let test = exact(condition) else { return nil }
        return SQLOperand(sql: "(SELECT count(*) \(clause(found, test)))", kind: .integer)
    }

    private mutating func aggregate(
        _ function: StoreExpression.Function, _ path: [String], _ values: [String], in scope: Int
    ) -> SQLOperand? {
        guard let (members, rest) = divided(path, in: scope), rest.isEmpty || function != .count, let found = self.members(members, in: scope)
        else { return nil }
        if function == .count {
            // Each member has one value at a key path without to-many relationships, which can be nil.
            guard values.isEmpty || value(values, in: found.scope) != nil else { return nil }
            return SQLOperand(sql: "(SELECT count(*) \(clause(found)))", kind: .integer)
        }
        guard let value = value(rest + values, in: found.scope), let total = Total(value) else { return nil }
        switch function {
        case .minimum: return total.minimum.map { SQLOperand(sql: "(SELECT \($0) \(clause(found)))", kind: total.kind) }
        case .maximum: return total.maximum.map { SQLOperand(sql: "(SELECT \($0) \(clause(found)))", kind: total.kind) }
        case .sum: return total.smallSum.map { SQLOperand(sql: "(SELECT \($0) \(clause(found)))", kind: .integer) }
        case .average: return total.smallAverage.map { SQLOperand(sql: "(SELECT \($0) \(clause(found)))", kind: .double) }
        case .count: return nil
        }
    }
}
#endif
