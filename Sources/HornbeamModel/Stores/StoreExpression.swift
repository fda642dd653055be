/// A value that a store computes for an object: one side of a comparison in a `StoreCondition`.
public indirect enum StoreExpression: Hashable, Sendable {
    /// The object at which a key path starts.
    public enum Start: Hashable, Sendable {
        /// The object that the query tests.
        case object
        /// The object of a SUBQUERY around the expression.
        case variable(String)
    }

    /// The functions over the values of a to-many relationship.
    public enum Function: String, Hashable, Sendable {
        /// The number of members.
        case count
        /// The sum of the values that are not nil; 0 without values.
        case sum
        /// The least value; nil without values.
        case minimum
        /// The greatest value; nil without values.
        case maximum
        /// The average of the values that are not nil; nil without values.
        case average
    }

    /// The operators of arithmetic. Integers that overflow become doubles; a division of integers truncates, and by 0 it is nil.
    public enum Operator: String, Hashable, Sendable {
        /// `+`
        case add
        /// `-`
        case subtract
        /// `*`
        case multiply
        /// `/`
        case divide
    }

    /// A constant. Booleans occur as the numbers 0 and 1.
    case constant(PropertyValue)
    /// The value at the end of a key path; the object itself for an empty path. A key of nil has the value nil.
    case keyPath(Start, [String])
    /// `works.@sum.pages`: a function over the values at a key path of the members of a relationship, to which a key path leads.
    case aggregate(Function, Start, members: [String], values: [String])
    /// `SUBQUERY(works, $w, …).@count`: the number of members that satisfy a condition, in which the variable is the member.
    case memberCount(Start, members: [String], variable: String, StoreCondition)
    /// A calculation.
    case arithmetic(Operator, StoreExpression, StoreExpression)
}

/// A comparison of two expressions.
public struct StoreExpressionComparison: Hashable, Sendable {
    /// The left side.
    public var left: StoreExpression
    /// The operator.
    public var comparator: StoreComparison.Operator
    /// The right side.
    public var right: StoreExpression
    /// The options of a comparison of texts.
    public var options: FetchPredicate.Options
}

extension StoreExpression {
    /// Nil for an expression of another form.
    ///
    /// - Parameter variables: The variables of the SUBQUERYs around the expression.
    init?(_ node: FetchExpression.Node, _ variables: Set<String>) {
        switch node {
        case .constant(let value): self = .constant(value)
        case .evaluatedObject: self = .keyPath(.object, [])
        case .variable(let name) where variables.contains(name): self = .keyPath(.variable(name), [])
        case .keyPath(.subquery(let collection, let name, let predicate), [.collection(.count)]):
            guard let (start, members) = Self.path(collection, variables), !members.isEmpty else { return nil }
            self = .memberCount(start, members: members, variable: name, StoreCondition(predicate, variables.union([name])))
        case .keyPath(let root, let steps):
            guard let start = Start(root, variables), let path = Self.keyPath(start, steps) else { return nil }
            self = path
        case .function(let function, let arguments):
            guard let sign = Operator(function), let left = Self(arguments[0], variables), let right = Self(arguments[1], variables)
            else { return nil }
            self = .arithmetic(sign, left, right)
        default: return nil
        }
    }

    private static func keyPath(_ start: Start, _ steps: [FetchExpression.Step]) -> Self? {
        let place = steps.firstIndex { if case .collection = $0 { true } else { false } }
        let (before, after) = (names(steps[..<(place ?? steps.endIndex)]), names(steps.dropFirst((place ?? steps.endIndex) + 1)))
        guard let before, let after else { return nil }
        guard let place, case .collection(let sign) = steps[place] else { return .keyPath(start, before) }
        guard let function = Function(sign), !before.isEmpty else { return nil }
        return .aggregate(function, start, members: before, values: after)
    }

    private static func names(_ steps: ArraySlice<FetchExpression.Step>) -> [String]? {
        let names = steps.compactMap { step in if case .name(let name) = step { name } else { nil } }
        return names.count == steps.count ? names : nil
    }

    /// A key path without operators.
    private static func path(_ node: FetchExpression.Node, _ variables: Set<String>) -> (Start, [String])? {
        guard case .keyPath(let start, let names) = Self(node, variables) else { return nil }
        return (start, names)
    }
}

extension StoreExpression.Start {
    fileprivate init?(_ node: FetchExpression.Node, _ variables: Set<String>) {
        switch node {
        case .evaluatedObject: self = .object
        case .variable(let name) where variables.contains(name): self = .variable(name)
        default: return nil
        }
    }
}

extension StoreExpression.Function {
    fileprivate init?(_ sign: FetchExpression.CollectionOperator) {
        switch sign {
        case .count: self = .count
        case .sum: self = .sum
        case .min: self = .minimum
        case .max: self = .maximum
        case .avg: self = .average
        default: return nil
        }
    }
}

extension StoreExpression.Operator {
    fileprivate init?(_ function: PredicateFunction) {
        switch function {
        case .add: self = .add
        case .subtract: self = .subtract
        case .multiply: self = .multiply
        case .divide: self = .divide
        default: return nil
        }
    }
}
