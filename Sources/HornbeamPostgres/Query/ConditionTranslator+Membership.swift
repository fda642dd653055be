#if Postgres
internal import Foundation
internal import HornbeamModel

// `IN`. Members of the usual types are one parameter: a statement has 65,535 at most, and its text does not depend on the number of members.

extension ConditionTranslator {
    /// The largest number of members that are compared one by one. Hornbeam finds the results of a condition with more.
    private static let comparedMax = 10_000

    mutating func membership(_ value: QueryValue, _ comparison: StoreComparison) -> String? {
        let members: [PropertyValue]
        switch comparison.value {
        case .array(let values): members = values
        case .set(let values): members = values.sorted { $0.sortOrder(to: $1) == .less }
        default: return nil
        }
        var tests: [String] = []
        var listed: [String] = []
        for member in members {
            // The conditions of indexes have no parameters, and keep their form.
            if !parameters.areLiterals, let text = listedText(member, value, comparison.options) {
                listed.append(text)
                continue
            }
            guard tests.count < Self.comparedMax,
                let test = member.isNull ? "\(value.sql) IS NULL" : test(value, .equal, member, comparison.options)
            else { return nil }
            tests.append(test)
        }
        if !listed.isEmpty {
            let (sql, type) = listForm(value, comparison.options)
            let list = listed.count == 1
                ? parameters.add(listed[0], as: type) : "ANY(\(parameters.add(SQLText.array(listed.map { $0 as String? }), as: type + "[]")))"
            tests.append("\(sql) = \(list)")
        }
        return tests.isEmpty ? "FALSE" : "(" + tests.joined(separator: " OR ") + ")"
    }

    /// The value in the form in which it is compared with a list, and the type of the list's elements.
    private func listForm(_ value: QueryValue, _ options: FetchPredicate.Options) -> (sql: String, type: String) {
        switch value.type {
        case .string: (TextComparison.folded(value.sql, options, layout), "text")
        case .uuid: (value.sql, "uuid")
        default: (value.sql, "bigint")
        }
    }

    /// The text of a member in a list; nil for a member that is compared in another way.
    private func listedText(_ member: PropertyValue, _ value: QueryValue, _ options: FetchPredicate.Options) -> String? {
        switch (value.type, member) {
        case (.integer16, .int(let number)), (.integer32, .int(let number)), (.integer64, .int(let number)): String(number)
        case (.string, .string(let text)): ColumnValue.escaped(String(decoding: Folding.fold(text, options), as: UTF8.self))
        case (.uuid, .uuid(let uuid)): uuid.uuidString
        case (.objectID, .objectID(let id)): isComparable(value, id) ? String(layout.inner(id.customKey).key) : nil
        default: nil
        }
    }

    private func isComparable(_ value: QueryValue, _ id: ManagedObjectID) -> Bool {
        value.property?.isAttribute != true && !id.isTemporaryID && id.storeIdentifier == layout.identifier && shareTable(value.objectEntity, id.entityName)
    }
}
#endif
