extension FetchPredicate {
    /// A copy in which the given variables are replaced by their values. Other variables remain, and evaluation needs
    /// values for them.
    public func substituting(_ variables: [String: PropertyValue]) -> FetchPredicate {
        FetchPredicate(node: node.substituting(variables))
    }

    /// A copy without variables, as a fetch requires.
    /// - Throws: `HornbeamError` with code `predicateEvaluation` that names a variable without a value (MDL-1).
    public func substitutingAll(_ variables: [String: PropertyValue]) throws -> FetchPredicate {
        let bound = substituting(variables)
        guard let missing = bound.node.freeVariables.sorted().first else { return bound }
        throw HornbeamError(
            .predicateEvaluation,
            "The variable $\(missing) has no value. A fetch needs a value for every variable of its predicate.")
    }

    /// A copy in which a variable is replaced by an object. Key paths that start at the variable become their values, and the variable
    /// itself becomes the object's ID.
    /// - Throws: The object's error for an unknown key.
    package func binding(_ name: String, to object: EvaluatedValue) throws -> FetchPredicate {
        let unused = node.unusedVariable
        // The variable of a SUBQUERY hides one with the same name, so it gets another name.
        let renamed = node.mapExpressions { expression in
            guard case .subquery(let collection, name, let predicate) = expression else { return expression }
            return .subquery(collection, unused, predicate.mapExpressions { $0 == .variable(name) ? .variable(unused) : $0 })
        }
        let followed = try renamed.mapExpressions { expression in
            guard case .keyPath(.variable(name), let steps) = expression else { return expression }
            var work = EvaluationBudget()
            return .constant(FetchExpression.normalized(try object.value(along: steps[...], &work).propertyValue ?? .null))
        }
        return FetchPredicate(node: followed.substituting([name: object.propertyValue ?? .null]))
    }

    /// The names of the variables that need a value, without those that a SUBQUERY binds.
    public var variableNames: Set<String> { node.freeVariables }
}

extension FetchExpression {
    /// A copy in which the given variables are replaced by their values.
    public func substituting(_ variables: [String: PropertyValue]) -> FetchExpression {
        FetchExpression(node: node.substituting(variables.mapValues(Self.normalized)))
    }
}

extension FetchPredicate.Node {
    func substituting(_ variables: [String: PropertyValue]) -> Self {
        switch self {
        case .constant, .block: return self
        case .comparison(var comparison):
            comparison.left = comparison.left.substituting(variables)
            comparison.right = comparison.right.substituting(variables)
            return .comparison(comparison)
        case .and(let nodes): return .and(nodes.map { $0.substituting(variables) })
        case .or(let nodes): return .or(nodes.map { $0.substituting(variables) })
        case .not(let node): return .not(node.substituting(variables))
        }
    }

    var freeVariables: Set<String> {
        var found: Set<String> = []
        switch self {
        case .constant, .block: break
        case .comparison(let comparison): found = comparison.left.freeVariables.union(comparison.right.freeVariables)
        case .and(let nodes), .or(let nodes): for node in nodes { found.formUnion(node.freeVariables) }
        case .not(let node): found = node.freeVariables
        }
        return found
    }
}

extension FetchExpression.Node {
    /// The variable of a SUBQUERY is local and hides an outer one with the same name.
    func substituting(_ variables: [String: PropertyValue]) -> Self {
        switch self {
        case .variable(let name): return variables[name].map { .constant(FetchExpression.normalized($0)) } ?? self
        case .subquery(let collection, let name, let predicate):
            var inner = variables
            inner[name] = nil
            return .subquery(collection.substituting(variables), name, predicate.substituting(inner))
        case .conditional(let predicate, let yes, let no):
            return .conditional(
                predicate.substituting(variables), yes.substituting(variables), no.substituting(variables))
        case .aggregate(let nodes):
            let bound = nodes.map { $0.substituting(variables) }
            return FetchExpression.constants(bound).map { .constant(.array($0)) } ?? .aggregate(bound)
        case .keyPath(let root, let steps): return root == .evaluatedObject ? self : .keyPath(root.substituting(variables), steps)
        case .function(let function, let nodes): return .function(function, nodes.map { $0.substituting(variables) })
        case .set(let sign, let left, let right): return .set(sign, left.substituting(variables), right.substituting(variables))
        case .index(let node, .value(let index)):
            return .index(node.substituting(variables), .value(index.substituting(variables)))
        case .index(let node, let index): return .index(node.substituting(variables), index)
        case .cast(let node, let type):
            let bound = node.substituting(variables)
            if case .constant(let value) = bound, let constant = type.folded(value) { return .constant(constant) }
            return .cast(bound, type)
        case .assignment(let name, let node): return .assignment(name, node.substituting(variables))
        case .fetch(let request, let context, let countOnly):
            return .fetch(request.substituting(variables), context.substituting(variables), countOnly: countOnly)
        case .constant, .evaluatedObject, .anyKey, .block: return self
        }
    }

    var freeVariables: Set<String> {
        var found: Set<String> = []
        switch self {
        case .variable(let name): return [name]
        case .subquery(let collection, let name, let predicate):
            return collection.freeVariables.union(predicate.freeVariables.subtracting([name]))
        case .conditional(let predicate, let yes, let no):
            return predicate.freeVariables.union(yes.freeVariables).union(no.freeVariables)
        case .keyPath(let root, _): return root == .evaluatedObject ? [] : root.freeVariables
        case .function(_, let nodes), .aggregate(let nodes): for node in nodes { found.formUnion(node.freeVariables) }
        case .set(_, let left, let right), .fetch(let left, let right, _), .index(let left, .value(let right)):
            found = left.freeVariables.union(right.freeVariables)
        case .index(let node, _), .cast(let node, _), .assignment(_, let node): return node.freeVariables
        case .constant, .evaluatedObject, .anyKey, .block: break
        }
        return found
    }
}
