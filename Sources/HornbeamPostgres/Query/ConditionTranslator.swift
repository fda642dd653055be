#if Postgres
internal import Foundation
internal import HornbeamModel

/// Translates conditions into SQL that is true for the same objects.
///
/// A condition of Hornbeam is true or false, a condition of SQL can also be unknown. Unknown counts as false, except below `NOT`, where
/// `IS TRUE` makes it false.
struct ConditionTranslator {
    /// The value at the end of a key path over to-one relationships.
    struct Value {
        let sql: String
        let type: AttributeType
        let property: PropertyDescription?
    }

    private let layout: StoreLayout
    private(set) var joins = ""
    private var aliases: [String: (name: String, entity: EntityDescription)] = [:]
    private var aliasCount = 0
    var parameters = ParameterList()

    init(_ layout: StoreLayout) { self.layout = layout }

    /// Nil if SQL cannot say the same.
    mutating func exact(_ condition: StoreCondition, of entity: EntityDescription, _ row: String, isNegated: Bool = false) -> String? {
        switch condition {
        case .constant(let value): return value ? "TRUE" : "FALSE"
        case .all(let parts): return combined(parts, " AND ", of: entity, row, isNegated)
        case .any(let parts): return combined(parts, " OR ", of: entity, row, isNegated)
        case .not(let part): return exact(part, of: entity, row, isNegated: true).map { "NOT \($0)" }
        case .comparison(let comparison):
            guard let sql = self.comparison(comparison, of: entity, row) else { return nil }
            return isNegated ? "((\(sql)) IS TRUE)" : "(\(sql))"
        case .other: return nil
        }
    }

    private mutating func combined(
        _ parts: [StoreCondition], _ word: String, of entity: EntityDescription, _ row: String, _ isNegated: Bool
    ) -> String? {
        var texts: [String] = []
        for part in parts {
            guard let text = exact(part, of: entity, row, isNegated: isNegated) else { return nil }
            texts.append(text)
        }
        return "(" + texts.joined(separator: word) + ")"
    }

    /// A condition that is true for at least the same objects.
    mutating func superset(_ condition: StoreCondition, of entity: EntityDescription, _ row: String) -> String {
        switch condition {
        case .all(let parts):
            let texts = parts.map { superset($0, of: entity, row) }.filter { $0 != "TRUE" }
            return texts.isEmpty ? "TRUE" : "(" + texts.joined(separator: " AND ") + ")"
        case .any(let parts):
            let before = self
            let texts = parts.map { superset($0, of: entity, row) }
            if texts.contains("TRUE") {
                self = before
                return "TRUE"
            }
            return texts.isEmpty ? "FALSE" : "(" + texts.joined(separator: " OR ") + ")"
        default:
            let before = self
            if let text = exact(condition, of: entity, row) { return text }
            // Without the parameters that the attempt has added.
            self = before
            return "TRUE"
        }
    }

    // MARK: Key paths

    /// The value at the end of a key path; nil if it is not in a column that to-one relationships lead to.
    mutating func value(_ path: [String], of entity: EntityDescription, _ row: String) -> Value? {
        guard let name = path.last else { return Value(sql: "\(row)._id", type: .objectID, property: nil) }
        guard let (alias, entity) = follow(path.dropLast(), of: entity, row), let property = entity.propertiesByName[name],
            let column = try? layout.table(of: entity.name).column(name, of: entity.name)
        else { return nil }
        return Value(sql: "\(alias).\(column.name)", type: property.attributeType, property: property)
    }

    /// Joins the tables along to-one relationships.
    private mutating func follow(
        _ path: ArraySlice<String>, of entity: EntityDescription, _ row: String
    ) -> (alias: String, entity: EntityDescription)? {
        var current = (alias: row, entity: entity)
        for name in path {
            guard let property = current.entity.relationshipsByName[name], !property.isToMany, let destination = property.destinationEntity,
                let column = try? layout.table(of: current.entity.name).column(name, of: current.entity.name),
                let table = try? layout.table(of: destination.name)
            else { return nil }
            let key = "\(current.alias).\(name)"
            if let known = aliases[key] {
                current = (known.name, known.entity)
                continue
            }
            // Joins are added to the whole query, so they can start at its own row only.
            guard row == "t" else { return nil }
            aliasCount += 1
            let alias = "t\(aliasCount)"
            joins += " LEFT JOIN \(table.name) \(alias) ON \(alias)._id = \(current.alias).\(column.name)"
            aliases[key] = (alias, destination)
            current = (alias, destination)
        }
        return current
    }

    // MARK: Comparisons

    private mutating func comparison(_ comparison: StoreComparison, of entity: EntityDescription, _ row: String) -> String? {
        guard comparison.quantifier == .none else { return quantified(comparison, of: entity, row) }
        guard let value = value(comparison.path, of: entity, row) else { return nil }
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

    private func comparedToNull(_ sql: String, _ comparator: StoreComparison.Operator) -> String? {
        switch comparator {
        case .equal: "\(sql) IS NULL"
        case .notEqual: "\(sql) IS NOT NULL"
        case .less, .lessOrEqual, .greater, .greaterOrEqual: "FALSE"
        default: nil
        }
    }

    private mutating func membership(_ value: Value, _ comparison: StoreComparison) -> String? {
        let members: [PropertyValue]
        switch comparison.value {
        case .array(let values): members = values
        case .set(let values): members = values.sorted { $0.sortOrder(to: $1) == .less }
        default: return nil
        }
        var tests: [String] = []
        for member in members {
            guard let test = member.isNull ? "\(value.sql) IS NULL" : test(value, .equal, member, comparison.options) else { return nil }
            tests.append(test)
        }
        return tests.isEmpty ? "FALSE" : "(" + tests.joined(separator: " OR ") + ")"
    }

    /// `ANY works.title == 'x'` over a to-many relationship with a to-one inverse or a join table.
    private mutating func quantified(_ comparison: StoreComparison, of entity: EntityDescription, _ row: String) -> String? {
        guard row == "t", comparison.path.count == 2, let relationship = entity.relationshipsByName[comparison.path[0]], relationship.isToMany,
            let destination = relationship.destinationEntity, let table = try? layout.table(of: destination.name)
        else { return nil }
        var inner = comparison
        inner.path.removeFirst()
        inner.quantifier = .none
        aliasCount += 1
        let alias = "m\(aliasCount)"
        guard let test = self.comparison(inner, of: destination, alias) else { return nil }
        let members: String
        if let join = layout.join(of: relationship) {
            let ends = JoinEnds(relationship)
            members = "\(join.name) j JOIN \(table.name) \(alias) ON \(alias)._id = \(ends.member("\(row)._id")) WHERE \(ends.owns("\(row)._id"))"
        } else {
            guard let inverse = relationship.inverse, let column = table.column(inverse.name, of: inverse.entity.name) else { return nil }
            members = "\(table.name) \(alias) WHERE \(alias).\(column.name) = \(row)._id"
        }
        return comparison.quantifier == .any
            ? "EXISTS (SELECT FROM \(members) AND (\(test)))" : "NOT EXISTS (SELECT FROM \(members) AND (\(test)) IS NOT TRUE)"
    }

    /// A comparison of a column with a constant that is not nil.
    private mutating func test(
        _ value: Value, _ comparator: StoreComparison.Operator, _ constant: PropertyValue, _ options: FetchPredicate.Options
    ) -> String? {
        switch (value.type, constant) {
        case (.string, .string(let text)): return textTest(value.sql, comparator, text, options)
        case (.uri, .uri(let url)): return ordered("\(value.sql) COLLATE \"C\"", comparator, url.absoluteString, "text")
        case (.date, .date(let date)):
            return ordered(value.sql, comparator, ColumnValue.text(of: date.timeIntervalSinceReferenceDate), "double precision")
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

    private mutating func textTest(
        _ sql: String, _ comparator: StoreComparison.Operator, _ text: String, _ options: FetchPredicate.Options
    ) -> String? {
        guard options.isEmpty || options.contains(.normalized) else { return nil }
        switch comparator {
        case .equal: return "\(sql) = \(parameters.add(ColumnValue.escaped(text), as: "text"))"
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            guard !options.contains(.localeSensitive) else { return nil }
            return ordered("\(sql) COLLATE \"C\"", comparator, ColumnValue.escaped(text), "text")
        case .beginsWith, .contains, .endsWith:
            if text.isEmpty { return "FALSE" }
            guard !ColumnValue.needsEscape(text) else { return nil }
            let constant = parameters.add(text, as: "text")
            switch comparator {
            case .beginsWith: return "starts_with(\(sql), \(constant))"
            case .endsWith: return "right(\(sql), length(\(constant))) = \(constant)"
            default: return "strpos(\(sql), \(constant)) > 0"
            }
        default: return nil
        }
    }

    /// A comparison of a reference with an object. Keys are unique in the store, so the entity need not be compared.
    private mutating func reference(_ value: Value, _ comparator: StoreComparison.Operator, _ id: ManagedObjectID) -> String? {
        guard comparator == .equal, value.property?.isAttribute != true, !id.isTemporaryID else { return nil }
        guard id.storeIdentifier == layout.identifier, let key = ManagedObjectID.URIParts(id.uriRepresentation())?.reference else { return "FALSE" }
        return "\(value.sql) = \(parameters.add(String(key), as: "bigint"))"
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
}
#endif
