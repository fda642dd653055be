extension FetchPredicate {
    /// Validates the predicate for an entity and returns it. Requests call it when they are executed.
    ///
    /// - Parameter readsStore: True for a fetch, which cannot read transient properties.
    /// - Throws: `HornbeamError` with code `predicateInvalid` for an unknown key (the message suggests a similar
    ///   name), an operator that cannot be true for the types of its operands, ANY without a collection.
    @discardableResult
    public func validated(for entity: EntityDescription, readsStore: Bool = true) throws -> FetchPredicate {
        try check(for: entity, readsStore: readsStore)
        return self
    }

    /// - Parameter subject: The words with which an error's text begins.
    func check(_ subject: String = "The predicate", for entity: EntityDescription, readsStore: Bool = true) throws {
        var validator = PredicateValidator(subject, entity: entity, readsStore: readsStore)
        try validator.check(node)
    }
}

extension FetchExpression {
    /// The type of the expression's values for objects of an entity.
    /// - Parameter subject: The words with which an error's text begins.
    /// - Throws: `HornbeamError` with code `predicateInvalid`.
    package func validatedType(
        for entity: EntityDescription, readsStore: Bool = true, as subject: String = "The expression"
    ) throws -> ExpressionType {
        var validator = PredicateValidator(subject, entity: entity, readsStore: readsStore)
        return try validator.type(of: node)
    }
}

extension FetchSort {
    /// Checks that the key path consists of to-one relationships and an attribute of an ordered type.
    /// - Throws: `HornbeamError` with code `predicateInvalid`.
    @discardableResult
    public func validated(for entity: EntityDescription, readsStore: Bool = true) throws -> FetchSort {
        let type = try FetchExpression(keyPath: keyPath)
            .validatedType(for: entity, readsStore: readsStore, as: "The sort key “\(keyPath)”")
        guard type.isOrdered || type == .object(nil) else {
            throw HornbeamError(
                .predicateInvalid,
                "Objects of the entity “\(entity.name)” cannot be sorted by “\(keyPath)”, which is \(type.words). "
                    + "Sort by an attribute, of the entity itself or over to-one relationships.",
                entity: entity.name, key: keyPath)
        }
        return self
    }
}
