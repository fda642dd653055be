extension FetchPredicate {
    /// Whether the predicate holds for an object.
    ///
    /// For many objects, prepare the predicate once with `CompiledPredicate`.
    /// - Parameter variables: The values of the `$names` in the predicate.
    /// - Throws: `HornbeamError` with code `predicateEvaluation` for a variable without a value, or ANY and
    ///   ALL over a single value; what the object throws for a key that it does not have.
    public func evaluate(with object: some KeyedValues, variables: [String: PropertyValue] = [:]) throws -> Bool {
        try evaluate(with: EvaluatedValue.object(object), variables: variables)
    }

    /// Whether the predicate holds where `SELF` is a plain value: `SELF >= 0`.
    public func evaluate(with value: PropertyValue, variables: [String: PropertyValue] = [:]) throws -> Bool {
        try evaluate(with: EvaluatedValue.value(value), variables: variables)
    }

    /// Whether the predicate holds for what a key answered.
    public func evaluate(with value: EvaluatedValue, variables: [String: PropertyValue] = [:]) throws -> Bool {
        var evaluation = Evaluation(value, variables)
        return try evaluation.holds(node)
    }
}

extension FetchExpression {
    /// The value of the expression for an object.
    /// - Throws: As `FetchPredicate.evaluate(with:variables:)` does.
    public func value(with object: some KeyedValues, variables: [String: PropertyValue] = [:]) throws -> EvaluatedValue {
        try value(with: EvaluatedValue.object(object), variables: variables)
    }

    /// The value of the expression where `SELF` is a plain value, or nothing.
    public func value(with value: PropertyValue = .null, variables: [String: PropertyValue] = [:]) throws -> EvaluatedValue {
        try self.value(with: EvaluatedValue.value(value), variables: variables)
    }

    /// The value of the expression for what a key answered.
    public func value(with value: EvaluatedValue, variables: [String: PropertyValue] = [:]) throws -> EvaluatedValue {
        var evaluation = Evaluation(value, variables)
        return try evaluation.value(node)
    }
}

extension Sequence where Element: KeyedValues {
    /// The elements for which the predicate holds, in their order (FET-26).
    /// - Throws: As `FetchPredicate.evaluate(with:variables:)` does.
    public func filtered(by predicate: FetchPredicate, variables: [String: PropertyValue] = [:]) throws -> [Element] {
        try filter { try predicate.evaluate(with: $0, variables: variables) }
    }
}
