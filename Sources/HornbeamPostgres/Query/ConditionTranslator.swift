#if Postgres
internal import Foundation
internal import HornbeamModel

/// Translates conditions into SQL that is true for the same objects.
///
/// A condition of Hornbeam is true or false, a condition of SQL can also be unknown. Unknown counts as false, except below `NOT`, where
/// `IS TRUE` makes it false.
struct ConditionTranslator {
    let layout: StoreLayout
    /// The rows of the query, then those of subselects.
    var scopes: [QueryScope]
    /// The scopes of the variables of SUBQUERYs.
    var variables: [String: Int] = [:]
    var parameters = ParameterList()
    /// False if the statement must not contain calculations at which the server can stop with an error.
    var allowsCalculations = true
    private var aliasCount = 0

    /// - Parameter row: The alias of the rows.
    init(_ layout: StoreLayout, _ entity: EntityDescription, row: String = "t") {
        self.layout = layout
        scopes = [QueryScope(row: row, entity: entity)]
    }

    /// The joins of the query's own rows.
    var joins: String { scopes[0].joins }

    mutating func newAlias(_ letter: String) -> String {
        aliasCount += 1
        return "\(letter)\(aliasCount)"
    }

    /// Nil if SQL has no equivalent condition.
    mutating func exact(_ condition: StoreCondition, isNegated: Bool = false) -> String? {
        switch condition {
        case .constant(let value): return value ? "TRUE" : "FALSE"
        case .all(let parts): return combined(parts, " AND ", isNegated)
        case .any(let parts): return combined(parts, " OR ", isNegated)
        case .not(let part): return exact(part, isNegated: true).map { "NOT \($0)" }
        case .comparison(let comparison): return Self.truth(of: self.comparison(comparison, in: 0), isNegated)
        case .expressions(let comparison): return Self.truth(of: self.comparison(comparison), isNegated)
        case .other: return nil
        }
    }

    /// Static: a method would keep a copy of the translator while its argument is evaluated, so that each parameter would copy all others.
    private static func truth(of sql: String?, _ isNegated: Bool) -> String? { sql.map { isNegated ? "((\($0)) IS TRUE)" : "(\($0))" } }

    private mutating func combined(_ parts: [StoreCondition], _ word: String, _ isNegated: Bool) -> String? {
        var texts: [String] = []
        for part in parts {
            guard parameters.fit, let text = exact(part, isNegated: isNegated) else { return nil }
            texts.append(text)
        }
        return "(" + texts.joined(separator: word) + ")"
    }

    /// A condition that is true for at least the same objects.
    mutating func superset(_ condition: StoreCondition) -> String {
        switch condition {
        case .all(let parts):
            let texts = parts.map { superset($0) }.filter { $0 != "TRUE" }
            return texts.isEmpty ? "TRUE" : "(" + texts.joined(separator: " AND ") + ")"
        case .any(let parts):
            let start = position
            let texts = parts.map { superset($0) }
            if texts.contains("TRUE") {
                undo(to: start)
                return "TRUE"
            }
            return texts.isEmpty ? "FALSE" : "(" + texts.joined(separator: " OR ") + ")"
        default:
            let start = position
            if let text = exact(condition) { return text }
            undo(to: start)
            return "TRUE"
        }
    }

    /// The state before an attempt. Without the parameters: a copy of them for each part of a condition would take quadratic time.
    private struct Position {
        let scopes: [QueryScope]
        let variables: [String: Int]
        let aliasCount: Int
        let parameterCount: Int
    }

    private var position: Position {
        Position(scopes: scopes, variables: variables, aliasCount: aliasCount, parameterCount: parameters.values.count)
    }

    /// Removes what a failed attempt has added.
    private mutating func undo(to position: Position) {
        (scopes, variables, aliasCount) = (position.scopes, position.variables, position.aliasCount)
        parameters.truncate(to: position.parameterCount)
    }

    // MARK: Comparisons with constants

    mutating func comparison(_ comparison: StoreComparison, in scope: Int) -> String? {
        guard comparison.quantifier == .none else { return quantified(comparison, in: scope) }
        guard let value = value(comparison.path, in: scope) else { return membership(of: comparison, in: scope) }
        if comparison.value.isNull { return comparedToNull(value.sql, comparison.comparator) }
        switch comparison.comparator {
        case .in: return membership(value, comparison)
        case .between:
            guard case .array(let bounds) = comparison.value, bounds.count == 2, bounds.allSatisfy({ !$0.isNull }) else { return nil }
            guard let low = test(value, .greaterOrEqual, bounds[0], comparison.options),
                let high = test(value, .lessOrEqual, bounds[1], comparison.options)
            else { return nil }
            return "\(low) AND \(high)"
        case .notEqual:
            guard let equal = test(value, .equal, comparison.value, comparison.options) else { return nil }
            return "(\(equal)) IS NOT TRUE"
        default: return test(value, comparison.comparator, comparison.value, comparison.options)
        }
    }

    func comparedToNull(_ sql: String, _ comparator: StoreComparison.Operator) -> String? {
        switch comparator {
        case .equal: "\(sql) IS NULL"
        case .notEqual: "\(sql) IS NOT NULL"
        case .less, .lessOrEqual, .greater, .greaterOrEqual: "FALSE"
        default: nil
        }
    }

    /// `ANY works.title == 'x'` over one or more to-many relationships.
    private mutating func quantified(_ comparison: StoreComparison, in scope: Int) -> String? {
        guard let (path, rest) = divided(comparison.path, in: scope), let members = members(path, in: scope) else { return nil }
        var inner = comparison
        inner.path = rest
        inner.quantifier = .none
        guard let test = self.comparison(inner, in: members.scope) else { return nil }
        return comparison.quantifier == .any
            ? "EXISTS (SELECT \(clause(members, "(\(test))")))" : "NOT EXISTS (SELECT \(clause(members, "(\(test)) IS NOT TRUE")))"
    }

    /// `works CONTAINS %@` with an object, for a key path that has one to-many relationship, at its end: `ANY works == %@`.
    private mutating func membership(of comparison: StoreComparison, in scope: Int) -> String? {
        guard comparison.comparator == .contains, case .objectID = comparison.value, let (_, rest) = divided(comparison.path, in: scope), rest.isEmpty,
            divided(Array(comparison.path.dropLast()), in: scope) == nil
        else { return nil }
        var equality = comparison
        (equality.comparator, equality.quantifier) = (.equal, .any)
        return quantified(equality, in: scope)
    }

    /// A comparison of a column with a constant that is not nil.
    mutating func test(
        _ value: QueryValue, _ comparator: StoreComparison.Operator, _ constant: PropertyValue, _ options: FetchPredicate.Options
    ) -> String? {
        switch (value.type, constant) {
        case (.string, .string(let text)):
            return TextComparison(value.sql, options, layout).sql(comparator, text, &parameters)
        case (.uri, .uri(let url)): return ordered("\(value.sql) COLLATE \"C\"", comparator, ColumnValue.escaped(url.absoluteString), "text")
        case (.date, .date(let date)):
            let seconds = date.timeIntervalSinceReferenceDate
            if seconds.isNaN { return nil }
            return ordered(value.sql, comparator, ColumnValue.text(of: seconds), "double precision")
                .map { NumberComparison.guarded($0, value.sql, comparator.sign) }
        case (.uuid, .uuid(let uuid)): return ordered(value.sql, comparator, uuid.uuidString, "uuid")
        case (.binary, .data): return ordered(value.sql, comparator, try? ColumnValue.text(of: constant, .binary), "bytea")
        case (.objectID, .objectID(let id)): return reference(value, comparator, id)
        default:
            guard value.type.isNumeric else { return nil }
            return NumberComparison(value.sql, value.type).sql(comparator, constant, &parameters)
        }
    }

    private mutating func ordered(_ sql: String, _ comparator: StoreComparison.Operator, _ constant: String?, _ type: String) -> String? {
        guard let sign = comparator.sign, let constant else { return nil }
        return "\(sql) \(sign) \(parameters.add(constant, as: type))"
    }

    /// A comparison of a reference with an object. Keys are unique in a table, so the entity need not be compared with those of the same table.
    private mutating func reference(_ value: QueryValue, _ comparator: StoreComparison.Operator, _ id: ManagedObjectID) -> String? {
        guard comparator == .equal, value.property?.isAttribute != true, !id.isTemporaryID else { return nil }
        guard id.storeIdentifier == layout.identifier, shareTable(value.objectEntity, id.entityName) else { return "FALSE" }
        return "\(value.sql) = \(parameters.add(String(layout.inner(id.customKey).key), as: "bigint"))"
    }

    /// False if objects of two entities are in different tables, so that none of them are equal. Rows of existing tables can have the same keys.
    func shareTable(_ first: String?, _ second: String?) -> Bool {
        guard layout.hasMappedTables, let first, let second, let table = try? layout.table(of: first) else { return true }
        return (try? layout.table(of: second).name) == table.name
    }
}

extension StoreComparison.Operator {
    /// The operator of SQL for values in an order.
    var sign: String? {
        switch self {
        case .equal: "="
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        default: nil
        }
    }

    /// The operator of order with exchanged operands; nil for other operators.
    var mirrored: Self? {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        default: nil
        }
    }
}
#endif
