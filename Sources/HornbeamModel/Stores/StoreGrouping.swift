/// The groups of a query with dictionary results, in the form that a store translates.
///
/// The groups are ordered by the request's sort criteria, which are key paths of `keys`, then by the least key of their objects.
public struct StoreGrouping: Hashable, Sendable {
    /// A column of the dictionaries.
    public struct Column: Hashable, Sendable {
        /// The key in the dictionary.
        public let name: String
        /// The value.
        public let value: Value
    }

    /// The value of a column for a group.
    public enum Value: Hashable, Sendable {
        /// The value by which objects are grouped.
        case key([String])
        /// The number of objects.
        case count
        /// The number of objects with a value at the key path.
        case countOf([String])
        /// The least value; nil without values.
        case minimum([String])
        /// The greatest value; nil without values.
        case maximum([String])
        /// The sum of the values; 0 without values.
        case sum([String])
        /// The average of the values; nil without values.
        case average([String])
    }

    /// The key paths by whose values objects are grouped. Missing values are one group.
    public let keys: [[String]]
    /// The columns of the dictionaries.
    public let columns: [Column]

    /// Nil for a request with another form: computed columns, a condition on groups, offset or limit, no key.
    init?(_ request: FetchDescription) {
        keys = request.propertiesToGroupBy.map { $0.split(separator: ".").map(String.init) }
        let known = Set(keys)
        guard !keys.isEmpty, request.havingPredicate == nil, !request.returnsDistinctResults, request.window.isWhole,
            request.sortDescriptors.allSatisfy({ known.contains($0.keyPath.split(separator: ".").map(String.init)) })
        else { return nil }
        var columns: [Column] = []
        for column in request.propertiesToFetch {
            guard let value = Self.value(column), !columns.contains(where: { $0.name == column.name }) else { return nil }
            if case .key(let path) = value, !known.contains(path) { return nil }
            columns.append(Column(name: column.name, value: value))
        }
        if columns.isEmpty { return nil }
        self.columns = columns
    }

    private static func value(_ column: FetchColumn) -> Value? {
        switch column {
        case .property(let path): return .key(path.split(separator: ".").map(String.init))
        case .expression(_, let expression, nil):
            guard case .function(let function, let arguments) = expression.node, arguments.count == 1 else { return nil }
            if function == .count, arguments[0] == .evaluatedObject { return .count }
            guard case .keyPath(.evaluatedObject, let steps) = arguments[0] else { return nil }
            let names = steps.compactMap { if case .name(let name) = $0 { name } else { nil } }
            guard names.count == steps.count else { return nil }
            switch function {
            case .count: return .countOf(names)
            case .min: return .minimum(names)
            case .max: return .maximum(names)
            case .sum: return .sum(names)
            case .average: return .average(names)
            default: return nil
            }
        case .expression: return nil
        }
    }
}
