extension FetchPredicate.Node {
    /// The height of the tree, which is the depth of recursion over it.
    package var height: Int {
        switch self {
        case .constant, .block: 1
        case .comparison(let comparison): 1 + max(comparison.left.height, comparison.right.height)
        case .and(let nodes), .or(let nodes): 1 + (nodes.lazy.map(\.height).max() ?? 0)
        case .not(let node): 1 + node.height
        }
    }

    /// Calls `body` with every expression in the tree, parents before children.
    package func forEachExpression(_ body: (FetchExpression.Node) throws -> Void) rethrows {
        switch self {
        case .constant, .block: break
        case .comparison(let comparison):
            try comparison.left.forEachExpression(body)
            try comparison.right.forEachExpression(body)
        case .and(let nodes), .or(let nodes): try nodes.forEach { try $0.forEachExpression(body) }
        case .not(let node): try node.forEachExpression(body)
        }
    }

    /// A copy in which `change` has replaced expressions, from the leaves upwards.
    package func mapExpressions(_ change: (FetchExpression.Node) throws -> FetchExpression.Node) rethrows -> Self {
        switch self {
        case .constant, .block: return self
        case .comparison(var comparison):
            comparison.left = try comparison.left.mapExpressions(change)
            comparison.right = try comparison.right.mapExpressions(change)
            return .comparison(comparison)
        case .and(let nodes): return .and(try nodes.map { try $0.mapExpressions(change) })
        case .or(let nodes): return .or(try nodes.map { try $0.mapExpressions(change) })
        case .not(let node): return .not(try node.mapExpressions(change))
        }
    }
}

extension FetchExpression.Node {
    /// The height of the tree.
    package var height: Int {
        switch self {
        case .constant, .evaluatedObject, .variable, .anyKey, .block: 1
        case .keyPath(let root, _): 1 + (root == .evaluatedObject ? 0 : root.height)
        case .function(_, let nodes), .aggregate(let nodes): 1 + (nodes.lazy.map(\.height).max() ?? 0)
        case .set(_, let left, let right): 1 + max(left.height, right.height)
        case .subquery(let collection, _, let predicate): 1 + max(collection.height, predicate.height)
        case .conditional(let predicate, let yes, let no): 1 + max(predicate.height, yes.height, no.height)
        case .index(let collection, .value(let index)): 1 + max(collection.height, index.height)
        case .index(let node, _), .cast(let node, _), .assignment(_, let node): 1 + node.height
        case .fetch(let request, let context, _): 1 + max(request.height, context.height)
        }
    }

    /// Calls `body` with this expression and every expression below it, parents before children. The elements of
    /// a constant list are expressions too.
    package func forEachExpression(_ body: (FetchExpression.Node) throws -> Void) rethrows {
        try body(self)
        switch self {
        case .constant(.array(let values)): try values.forEach { try body(.constant($0)) }
        case .constant, .evaluatedObject, .variable, .anyKey, .block: break
        case .keyPath(let root, _): if root != .evaluatedObject { try root.forEachExpression(body) }
        case .function(_, let nodes), .aggregate(let nodes): try nodes.forEach { try $0.forEachExpression(body) }
        case .set(_, let left, let right), .fetch(let left, let right, _):
            try left.forEachExpression(body)
            try right.forEachExpression(body)
        case .subquery(let collection, _, let predicate):
            try collection.forEachExpression(body)
            try predicate.forEachExpression(body)
        case .conditional(let predicate, let yes, let no):
            try predicate.forEachExpression(body)
            try yes.forEachExpression(body)
            try no.forEachExpression(body)
        case .index(let node, let index):
            try node.forEachExpression(body)
            if case .value(let inner) = index { try inner.forEachExpression(body) }
        case .cast(let node, _), .assignment(_, let node): try node.forEachExpression(body)
        }
    }

    /// A copy in which `change` has replaced expressions, from the leaves upwards.
    package func mapExpressions(_ change: (Self) throws -> Self) rethrows -> Self {
        let copy: Self
        switch self {
        case .constant, .evaluatedObject, .variable, .anyKey, .block: copy = self
        case .keyPath(let root, let steps): copy = .keyPath(root == .evaluatedObject ? root : try root.mapExpressions(change), steps)
        case .function(let function, let nodes): copy = .function(function, try nodes.map { try $0.mapExpressions(change) })
        case .aggregate(let nodes): copy = .aggregate(try nodes.map { try $0.mapExpressions(change) })
        case .set(let sign, let left, let right):
            copy = .set(sign, try left.mapExpressions(change), try right.mapExpressions(change))
        case .subquery(let collection, let name, let predicate):
            copy = .subquery(try collection.mapExpressions(change), name, try predicate.mapExpressions(change))
        case .conditional(let predicate, let yes, let no):
            copy = .conditional(try predicate.mapExpressions(change), try yes.mapExpressions(change), try no.mapExpressions(change))
        case .index(let node, .value(let index)):
            copy = .index(try node.mapExpressions(change), .value(try index.mapExpressions(change)))
        case .index(let node, let index): copy = .index(try node.mapExpressions(change), index)
        case .cast(let node, let type): copy = .cast(try node.mapExpressions(change), type)
        case .assignment(let name, let node): copy = .assignment(name, try node.mapExpressions(change))
        case .fetch(let request, let context, let countOnly):
            copy = .fetch(try request.mapExpressions(change), try context.mapExpressions(change), countOnly: countOnly)
        }
        return try change(copy)
    }
}
