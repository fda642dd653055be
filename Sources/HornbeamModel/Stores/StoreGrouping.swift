/// The groups of a query with dictionary results, in the form that a store translates.
///
/// The store returns a `StoreGroup` for each combination of values. Hornbeam computes the columns from these, applies the condition on groups, and
/// orders the dictionaries.
public struct StoreGrouping: Hashable, Sendable {
    /// The functions of totals.
    public enum Function: String, Hashable, Sendable {
        /// The number of values that are not nil; of objects if the total has no key path.
        case count
        /// The sum; 0 without values.
        case sum
        /// The average; nil without values.
        case average
        /// The least value; nil without values.
        case minimum
        /// The greatest value; nil without values.
        case maximum
    }

    /// A function over the values of the objects in a group that are not nil.
    public struct Total: Hashable, Sendable {
        /// The function.
        public let function: Function
        /// The key path of the values; nil for the objects themselves.
        public let path: [String]?
        /// True if equal values are added only once.
        public let isDistinct: Bool
    }

    /// The key paths by whose values objects are grouped. Missing values are one group. Without key paths there is one group, also without objects.
    public let keys: [[String]]
    /// The totals of each group.
    public let totals: [Total]

    /// Nil for a program with values of another form: computed ones, values of to-many relationships, functions such as `median:`.
    package init?(_ program: DictionaryProgram) {
        guard program.isGrouped else { return nil }
        var keys: [[String]] = []
        for input in program.grouping {
            guard let path = program.inputs[input].plainPath else { return nil }
            keys.append(path)
        }
        var totals: [Total] = []
        for total in program.totals {
            guard let function = Function(total.function) else { return nil }
            if program.inputs[total.input] == .evaluatedObject, function == .count {
                totals.append(Total(function: .count, path: nil, isDistinct: false))
            } else {
                guard let path = program.inputs[total.input].plainPath else { return nil }
                totals.append(Total(function: function, path: path, isDistinct: total.isDistinct))
            }
        }
        self.keys = keys
        self.totals = totals
    }
}

extension FetchExpression.Node {
    /// The names of a key path without operators from the object; nil for other expressions.
    var plainPath: [String]? {
        guard case .keyPath(.evaluatedObject, let steps) = self else { return nil }
        let names = steps.compactMap { if case .name(let name) = $0 { name } else { nil } }
        return names.count == steps.count ? names : nil
    }
}

extension StoreGrouping.Function {
    fileprivate init?(_ function: PredicateFunction) {
        switch function {
        case .count: self = .count
        case .sum: self = .sum
        case .average: self = .average
        case .min: self = .minimum
        case .max: self = .maximum
        default: return nil
        }
    }
}
