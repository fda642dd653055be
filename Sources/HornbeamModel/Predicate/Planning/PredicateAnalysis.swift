/// A predicate in the form that planners need: constants are calculated, and the conditions are listed, with simple
/// conditions as terms.
package struct PredicateAnalysis: Sendable {
    /// The whole predicate, simplified; it is true for the same objects.
    package let predicate: FetchPredicate.Node
    /// Conditions that must all be true. Empty when the predicate is always true.
    package let conjuncts: [Conjunct]
    /// Every key path that starts at the fetched object, also inside SUBQUERY predicates.
    package let keyPaths: Set<[FetchExpression.Step]>
    /// True when a part is a closure, which can be evaluated only for objects in memory.
    package let hasBlocks: Bool
    /// True when the result for the same object can change with time: `now()`, `random()`.
    package let isVolatile: Bool

    package enum Conjunct: Hashable, Sendable {
        /// `key path  operator  constant`
        case term(Term)
        case other(FetchPredicate.Node)
    }

    /// A comparison of a key path with a constant, the key path on the left.
    package struct Term: Hashable, Sendable {
        package var path: [FetchExpression.Step]
        package var comparator: FetchPredicate.Comparator
        package var options: FetchPredicate.Options
        package var modifier: FetchPredicate.Modifier
        package var value: PropertyValue

        package init(
            path: [FetchExpression.Step], comparator: FetchPredicate.Comparator, options: FetchPredicate.Options,
            modifier: FetchPredicate.Modifier, value: PropertyValue
        ) {
            self.path = path
            self.comparator = comparator
            self.options = options
            self.modifier = modifier
            self.value = value
        }

        /// The name in a path of one step; nil when the path has several steps or an operator.
        package var key: String? {
            guard path.count == 1, case .name(let name) = path[0] else { return nil }
            return name
        }

        /// The names of the path; nil when one of its steps is an operator.
        package var names: [String]? {
            var names: [String] = []
            for case .name(let name) in path { names.append(name) }
            return names.count == path.count ? names : nil
        }
    }

    package init(_ predicate: FetchPredicate?) { self.init(predicate?.node ?? .constant(true)) }

    package init(_ node: FetchPredicate.Node) {
        let simplified = node.simplified
        predicate = simplified
        conjuncts = Self.conjuncts(simplified)
        var paths: Set<[FetchExpression.Step]> = []
        var isVolatile = false
        simplified.forEachExpression {
            switch $0 {
            case .keyPath(.evaluatedObject, let steps): paths.insert(steps)
            case .function(let function, _): isVolatile = isVolatile || function.isVolatile
            default: break
            }
        }
        keyPaths = paths
        self.isVolatile = isVolatile
        hasBlocks = simplified.hasBlocks
    }

    /// True when no object satisfies the predicate.
    package var isAlwaysFalse: Bool { predicate == .constant(false) }

    /// The conditions of a disjunction as terms, when all are simple: `a == 1 OR b == 2`.
    package static func terms(ofAnyIn node: FetchPredicate.Node) -> [Term]? {
        guard case .or(let nodes) = node else { return nil }
        var terms: [Term] = []
        for node in nodes {
            guard let term = term(node) else { return nil }
            terms.append(term)
        }
        return terms
    }

    private static func conjuncts(_ node: FetchPredicate.Node) -> [Conjunct] {
        switch node {
        case .constant(true): []
        case .and(let nodes): nodes.flatMap(conjuncts)
        default: [term(node).map { .term($0) } ?? .other(node)]
        }
    }

    /// The node as a term; nil when it has another form.
    package static func term(_ node: FetchPredicate.Node) -> Term? {
        guard case .comparison(let comparison) = node else { return nil }
        switch (comparison.left, comparison.right) {
        case (.keyPath(.evaluatedObject, let path), .constant(let value)):
            return Term(
                path: path, comparator: comparison.comparator, options: comparison.options,
                modifier: comparison.modifier, value: value)
        case (.evaluatedObject, .constant(let value)):
            return Term(
                path: [], comparator: comparison.comparator, options: comparison.options,
                modifier: comparison.modifier, value: value)
        case (.constant(let value), .keyPath(.evaluatedObject, let path)):
            guard comparison.modifier == .direct, let mirrored = comparison.comparator.mirrored else { return nil }
            return Term(path: path, comparator: mirrored, options: comparison.options, modifier: .direct, value: value)
        default: return nil
        }
    }
}

extension FetchPredicate.Node {
    /// True when a part is a closure, which can be evaluated only for objects in memory.
    package var hasBlocks: Bool {
        switch self {
        case .block: true
        case .constant: false
        case .and(let nodes), .or(let nodes): nodes.contains(where: \.hasBlocks)
        case .not(let node): node.hasBlocks
        case .comparison(let comparison): comparison.left.hasBlocks || comparison.right.hasBlocks
        }
    }
}

extension FetchExpression.Node {
    /// True when a part is a closure. Visits each node once.
    package var hasBlocks: Bool {
        switch self {
        case .block: true
        case .constant, .evaluatedObject, .variable, .anyKey: false
        case .keyPath(let node, _), .cast(let node, _), .assignment(_, let node): node.hasBlocks
        case .function(_, let nodes), .aggregate(let nodes): nodes.contains(where: \.hasBlocks)
        case .set(_, let left, let right), .fetch(let left, let right, _), .index(let left, .value(let right)):
            left.hasBlocks || right.hasBlocks
        case .index(let node, _): node.hasBlocks
        case .subquery(let collection, _, let predicate): collection.hasBlocks || predicate.hasBlocks
        case .conditional(let predicate, let yes, let no): predicate.hasBlocks || yes.hasBlocks || no.hasBlocks
        }
    }
}
