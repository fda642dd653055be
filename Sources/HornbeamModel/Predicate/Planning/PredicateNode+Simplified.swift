extension FetchPredicate.Node {
    /// An equivalent predicate with calculated constants, flat ANDs and ORs, and NOT replaced by the opposite
    /// operator where that is equivalent: `NOT x == 5` is `x != 5`, but `NOT x < 5` is also true for nil.
    package var simplified: FetchPredicate.Node {
        switch self {
        case .constant, .block: return self
        case .comparison(var comparison):
            comparison.left = comparison.left.simplified
            comparison.right = comparison.right.simplified
            if comparison.comparator == .in, case .constant(.set(let members)) = comparison.right {
                // A canonical order, for planners and prepared tests. IN ignores the order.
                comparison.right = .constant(.array(members.sorted { $0.sortOrder(to: $1) == .less }))
            }
            return Self.constantResult(comparison) ?? .comparison(comparison)
        case .and(let nodes): return Self.flattened(nodes, isAnd: true)
        case .or(let nodes): return Self.flattened(nodes, isAnd: false)
        case .not(let node): return Self.negated(node.simplified)
        }
    }

    private static func flattened(_ nodes: [Self], isAnd: Bool) -> Self {
        var result: [Self] = []
        for node in nodes {
            switch node.simplified {
            case .constant(let value): if value != isAnd { return .constant(!isAnd) }
            case .and(let inner) where isAnd: result += inner
            case .or(let inner) where !isAnd: result += inner
            case let other: result.append(other)
            }
        }
        if result.isEmpty { return .constant(isAnd) }
        return result.count == 1 ? result[0] : (isAnd ? .and(result) : .or(result))
    }

    private static func negated(_ node: Self) -> Self {
        switch node {
        case .constant(let value): return .constant(!value)
        case .not(let inner): return inner
        case .comparison(var comparison) where comparison.modifier == .direct && comparison.left != .anyKey && comparison.right != .anyKey:
            switch comparison.comparator {
            case .equal: comparison.comparator = .notEqual
            case .notEqual: comparison.comparator = .equal
            default: return .not(node)
            }
            return .comparison(comparison)
        default: return .not(node)
        }
    }

    /// The result of a comparison of two constants; nil when an operand is not a constant, or the evaluation throws.
    private static func constantResult(_ comparison: FetchPredicate.Comparison) -> Self? {
        guard case .constant = comparison.left, case .constant = comparison.right else { return nil }
        var evaluation = Evaluation(.value(.null))
        return (try? evaluation.holds(.comparison(comparison))).map { .constant($0) }
    }
}

extension FetchExpression.Node {
    /// An equivalent expression with calculated constant parts.
    package var simplified: FetchExpression.Node {
        switch self {
        case .conditional(let predicate, let yes, let no):
            let condition = predicate.simplified
            if case .constant(let value) = condition { return (value ? yes : no).simplified }
            return .conditional(condition, yes.simplified, no.simplified)
        case .subquery(let collection, let name, let predicate):
            return .subquery(collection.simplified, name, predicate.simplified)
        case .function(let function, let nodes):
            let parts = nodes.map(\.simplified)
            guard !function.isVolatile, FetchExpression.constants(parts) != nil else { return .function(function, parts) }
            return Self.calculated(.function(function, parts))
        case .cast(let inner, let type):
            let part = inner.simplified
            return part.isConstant ? Self.calculated(.cast(part, type)) : .cast(part, type)
        case .set(let sign, let left, let right):
            let (a, b) = (left.simplified, right.simplified)
            return a.isConstant && b.isConstant ? Self.calculated(.set(sign, a, b)) : .set(sign, a, b)
        case .index(let collection, .value(let index)):
            let (a, b) = (collection.simplified, index.simplified)
            return a.isConstant && b.isConstant ? Self.calculated(.index(a, .value(b))) : .index(a, .value(b))
        case .index(let collection, let index):
            let part = collection.simplified
            return part.isConstant ? Self.calculated(.index(part, index)) : .index(part, index)
        case .aggregate(let nodes):
            let parts = nodes.map(\.simplified)
            return FetchExpression.constants(parts).map { .constant(.array($0)) } ?? .aggregate(parts)
        case .keyPath(let root, let steps):
            if root == .evaluatedObject { return self }
            let part = root.simplified
            return part.isConstant ? Self.calculated(.keyPath(part, steps)) : .keyPath(part, steps)
        case .assignment(let name, let inner): return .assignment(name, inner.simplified)
        case .constant, .evaluatedObject, .variable, .anyKey, .block, .fetch: return self
        }
    }

    private var isConstant: Bool { if case .constant = self { true } else { false } }

    /// The value of an expression of constants; the expression itself when the evaluation throws.
    private static func calculated(_ node: FetchExpression.Node) -> FetchExpression.Node {
        var evaluation = Evaluation(.value(.null))
        guard let value = try? evaluation.value(node), let plain = value.propertyValue else { return node }
        return .constant(FetchExpression.normalized(plain))
    }
}
