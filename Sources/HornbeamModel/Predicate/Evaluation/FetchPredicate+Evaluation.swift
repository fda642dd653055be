extension FetchPredicate {
    /// True when the predicate is true for an object.
    ///
    /// For many objects, prepare the predicate once with `CompiledPredicate`.
    /// - Parameter variables: The values of the `$names` in the predicate.
    /// - Throws: `HornbeamError` with code `predicateEvaluation` for a variable without a value, or ANY and
    ///   ALL over a single value; the object's error for an unknown key.
    public func evaluate(with object: some KeyedValues, variables: [String: PropertyValue] = [:]) throws -> Bool {
        try evaluate(with: EvaluatedValue.object(object), variables: variables)
    }

    /// True when the predicate is true for a plain value as `SELF`: `SELF >= 0`.
    public func evaluate(with value: PropertyValue, variables: [String: PropertyValue] = [:]) throws -> Bool {
        try evaluate(with: EvaluatedValue.value(value), variables: variables)
    }

    /// True when the predicate is true for an object, a plain value or a collection as `SELF`.
    public func evaluate(with value: EvaluatedValue, variables: [String: PropertyValue] = [:]) throws -> Bool {
        var evaluation = Evaluation(value, variables)
        return try evaluation.holds(node)
    }
}

extension FetchExpression {
    /// The value of the expression for an object.
    /// - Throws: The errors of `FetchPredicate.evaluate(with:variables:)`.
    public func value(with object: some KeyedValues, variables: [String: PropertyValue] = [:]) throws -> EvaluatedValue {
        try value(with: EvaluatedValue.object(object), variables: variables)
    }

    /// The value of the expression for a plain value as `SELF`; without a value, `SELF` is nil.
    public func value(with value: PropertyValue = .null, variables: [String: PropertyValue] = [:]) throws -> EvaluatedValue {
        try self.value(with: EvaluatedValue.value(value), variables: variables)
    }

    /// The value of the expression for an object, a plain value or a collection as `SELF`.
    public func value(with value: EvaluatedValue, variables: [String: PropertyValue] = [:]) throws -> EvaluatedValue {
        var evaluation = Evaluation(value, variables)
        return try evaluation.value(node)
    }
}

extension Sequence where Element: KeyedValues {
    /// The elements for which the predicate is true, in their order (FET-26).
    /// - Throws: The errors of `FetchPredicate.evaluate(with:variables:)`.
    public func filtered(by predicate: FetchPredicate, variables: [String: PropertyValue] = [:]) throws -> [Element] {
        try filter { try predicate.evaluate(with: $0, variables: variables) }
    }
}
