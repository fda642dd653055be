/// The predicate of a query in the form that a store translates: comparisons of key paths with constants.
///
/// Constants are calculated, and `NOT` before `==` and `!=` is replaced by the opposite operator. Every condition is true or false, also for
/// nil: see `Docs/Querying.md` for the meaning of each operator.
public indirect enum StoreCondition: Hashable, Sendable {
    /// True for every object, or for none.
    case constant(Bool)
    /// True if all conditions are true.
    case all([StoreCondition])
    /// True if one of the conditions is true.
    case any([StoreCondition])
    /// True if the condition is false.
    case not(StoreCondition)
    /// A comparison of a key path with a constant.
    case comparison(StoreComparison)
    /// A comparison of another form: of two key paths, of calculated values, or of values of a SUBQUERY's members.
    case expressions(StoreExpressionComparison)
    /// A condition of another form, which only Hornbeam evaluates: closures, functions.
    case other

    /// The condition of a predicate; true for every object if there is none.
    public init(_ predicate: FetchPredicate?) { self.init(predicate?.node.simplified ?? .constant(true), []) }

    /// - Parameter variables: The variables of the SUBQUERYs around the condition.
    init(_ node: FetchPredicate.Node, _ variables: Set<String>) {
        switch node {
        case .constant(let value): self = .constant(value)
        case .and(let nodes): self = .all(nodes.map { Self($0, variables) })
        case .or(let nodes): self = .any(nodes.map { Self($0, variables) })
        case .not(let inner): self = .not(Self(inner, variables))
        case .comparison(let comparison):
            if let term = PredicateAnalysis.term(node).flatMap(StoreComparison.init) {
                self = .comparison(term)
            } else {
                self = StoreExpressionComparison(comparison, variables).map { .expressions($0) } ?? .other
            }
        case .block: self = .other
        }
    }

    /// False if a part has another form, which only Hornbeam evaluates.
    public var isComplete: Bool {
        switch self {
        case .constant, .comparison, .expressions: true
        case .all(let parts), .any(let parts): parts.allSatisfy(\.isComplete)
        case .not(let part): part.isComplete
        case .other: false
        }
    }
}

/// A comparison of the value at the end of a key path with a constant.
public struct StoreComparison: Hashable, Sendable {
    /// The operators. The key path is on the left side.
    public enum Operator: String, Hashable, Sendable, CaseIterable {
        /// `==`. nil equals only nil.
        case equal
        /// `!=`. True also for nil, unless the constant is nil.
        case notEqual
        /// `<`. False for nil, as the other operators of order.
        case less
        /// `<=`
        case lessOrEqual
        /// `>`
        case greater
        /// `>=`
        case greaterOrEqual
        /// `BETWEEN`: the constant is an array of two bounds, which are included.
        case between
        /// `IN`: the constant is an array or a set.
        case `in`
        /// `CONTAINS`: the text contains the constant, or the relationship contains the object.
        case contains
        /// `BEGINSWITH`. False for an empty constant, as ENDSWITH and CONTAINS.
        case beginsWith
        /// `ENDSWITH`
        case endsWith
        /// `LIKE` with the wildcards `*` and `?`.
        case like
        /// `MATCHES` with a regular expression.
        case matches
    }

    /// The quantifier of a comparison of a to-many relationship.
    public enum Quantifier: String, Hashable, Sendable {
        /// The key path leads to one value.
        case none
        /// `ANY`: one of the values satisfies the comparison.
        case any
        /// `ALL`: all values satisfy it; true without values.
        case all
    }

    /// The names of the key path; empty for the object itself.
    public var path: [String]
    /// The operator.
    public var comparator: Operator
    /// The options of a comparison of texts.
    public var options: FetchPredicate.Options
    /// The quantifier.
    public var quantifier: Quantifier
    /// The constant on the right side. Booleans occur as the numbers 0 and 1.
    public var value: PropertyValue

    package init(
        _ path: [String], _ comparator: Operator, _ value: PropertyValue, options: FetchPredicate.Options, quantifier: Quantifier = .none
    ) {
        (self.path, self.comparator, self.value) = (path, comparator, value)
        (self.options, self.quantifier) = (options, quantifier)
    }

    init?(_ term: PredicateAnalysis.Term) {
        guard let names = term.names, let comparator = Operator(term.comparator) else { return nil }
        path = names
        self.comparator = comparator
        options = term.options
        value = term.value
        switch term.modifier {
        case .direct: quantifier = .none
        case .any: quantifier = .any
        case .all: quantifier = .all
        }
    }
}

extension StoreExpressionComparison {
    /// Nil for a comparison of another form.
    init?(_ comparison: FetchPredicate.Comparison, _ variables: Set<String>) {
        guard comparison.modifier == .direct, let comparator = StoreComparison.Operator(comparison.comparator),
            let left = StoreExpression(comparison.left, variables), let right = StoreExpression(comparison.right, variables)
        else { return nil }
        self.init(left: left, comparator: comparator, right: right, options: comparison.options)
    }
}

extension StoreComparison.Operator {
    fileprivate init?(_ comparator: FetchPredicate.Comparator) {
        switch comparator {
        case .lessThan: self = .less
        case .lessThanOrEqual: self = .lessOrEqual
        case .greaterThan: self = .greater
        case .greaterThanOrEqual: self = .greaterOrEqual
        case .equal: self = .equal
        case .notEqual: self = .notEqual
        case .matches: self = .matches
        case .like: self = .like
        case .beginsWith: self = .beginsWith
        case .endsWith: self = .endsWith
        case .in: self = .in
        case .contains: self = .contains
        case .between: self = .between
        case .typeConformsTo, .typeEquals: return nil
        }
    }
}
