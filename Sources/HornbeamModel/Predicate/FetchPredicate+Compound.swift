extension FetchPredicate {
    /// Holds when every one of the predicates holds; an empty list always does.
    public static func all(_ predicates: [FetchPredicate]) -> FetchPredicate {
        predicates.count == 1 ? predicates[0] : FetchPredicate(node: .and(predicates.map(\.node)))
    }

    /// Holds when one of the predicates holds; an empty list never does.
    public static func any(_ predicates: [FetchPredicate]) -> FetchPredicate {
        predicates.count == 1 ? predicates[0] : FetchPredicate(node: .or(predicates.map(\.node)))
    }

    /// Holds when the predicate does not.
    public static func not(_ predicate: FetchPredicate) -> FetchPredicate {
        FetchPredicate(node: .not(predicate.node))
    }

    /// True where both predicates are true.
    public static func && (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
        if case .and(let nodes) = left.node { return FetchPredicate(node: .and(nodes + [right.node])) }
        return FetchPredicate(node: .and([left.node, right.node]))
    }

    /// True where one of the predicates is true, or both are.
    public static func || (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
        if case .or(let nodes) = left.node { return FetchPredicate(node: .or(nodes + [right.node])) }
        return FetchPredicate(node: .or([left.node, right.node]))
    }

    /// True where the predicate is false.
    public static prefix func ! (predicate: FetchPredicate) -> FetchPredicate { .not(predicate) }

    /// A condition as a closure, for what the language cannot say. It is evaluated in memory after the
    /// rows were read, can use no index, and cannot be printed back or archived.
    public static func block(
        _ body: @escaping @Sendable (EvaluatedValue, [String: PropertyValue]) throws -> Bool
    ) -> FetchPredicate {
        FetchPredicate(node: .block(PredicateBlock(body)))
    }
}
