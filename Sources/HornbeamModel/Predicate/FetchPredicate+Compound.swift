extension FetchPredicate {
    /// True when all of the predicates are true; an empty list is true.
    public static func all(_ predicates: [FetchPredicate]) -> FetchPredicate {
        predicates.count == 1 ? predicates[0] : FetchPredicate(node: .and(predicates.map(\.node)))
    }

    /// True when one of the predicates is true; an empty list is false.
    public static func any(_ predicates: [FetchPredicate]) -> FetchPredicate {
        predicates.count == 1 ? predicates[0] : FetchPredicate(node: .or(predicates.map(\.node)))
    }

    /// True when the predicate is false.
    public static func not(_ predicate: FetchPredicate) -> FetchPredicate {
        FetchPredicate(node: .not(predicate.node))
    }

    /// True when both predicates are true.
    public static func && (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
        if case .and(let nodes) = left.node { return FetchPredicate(node: .and(nodes + [right.node])) }
        return FetchPredicate(node: .and([left.node, right.node]))
    }

    /// True when at least one of the predicates is true.
    public static func || (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
        if case .or(let nodes) = left.node { return FetchPredicate(node: .or(nodes + [right.node])) }
        return FetchPredicate(node: .or([left.node, right.node]))
    }

    /// True when the predicate is false.
    public static prefix func ! (predicate: FetchPredicate) -> FetchPredicate { .not(predicate) }

    /// A condition as a closure, for conditions that the predicate language lacks. It is evaluated in memory after the
    /// rows were read. It cannot use an index, be printed or be archived.
    public static func block(
        _ body: @escaping @Sendable (EvaluatedValue, [String: PropertyValue]) throws -> Bool
    ) -> FetchPredicate {
        FetchPredicate(node: .block(PredicateBlock(body)))
    }
}
