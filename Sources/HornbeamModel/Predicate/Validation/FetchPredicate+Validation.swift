extension FetchPredicate {
    /// The predicate, after checking that it fits an entity. Requests do this when they are made.
    ///
    /// - Parameter readsStore: Whether transient properties are out of reach, as they are for a fetch.
    /// - Throws: `HornbeamError` with code `predicateInvalid` for an unknown key (with the one that was
    ///   perhaps meant), an operator that cannot hold for the types on its sides, ANY without a collection.
    @discardableResult
    public func validated(for entity: EntityDescription, readsStore: Bool = true) throws -> FetchPredicate {
        try check(for: entity, readsStore: readsStore)
        return self
    }

    /// - Parameter subject: What the predicate is, as it begins the sentence of an error.
    func check(_ subject: String = "The predicate", for entity: EntityDescription, readsStore: Bool = true) throws {
        var validator = PredicateValidator(subject, entity: entity, readsStore: readsStore)
        try validator.check(node)
    }

    /// The entities whose properties the predicate reads, the fetched one among them when it is read: a
    /// change of no object of these changes the answer.
    /// - Throws: `HornbeamError` with code `predicateInvalid`, as `validated(for:)` does.
    package func entitiesRead(from entity: EntityDescription) throws -> Set<EntityDescription> {
        var validator = PredicateValidator(entity: entity, readsStore: false)
        try validator.check(node)
        return validator.reached
    }
}

extension FetchExpression {
    /// The type of the expression's values for objects of an entity.
    /// - Parameter subject: What the expression is, as it begins the sentence of an error.
    /// - Throws: `HornbeamError` with code `predicateInvalid`.
    package func validatedType(
        for entity: EntityDescription, readsStore: Bool = true, as subject: String = "The expression"
    ) throws -> ExpressionType {
        var validator = PredicateValidator(subject, entity: entity, readsStore: readsStore)
        return try validator.type(of: node)
    }
}

extension FetchSort {
    /// Checks that the key path leads over to-one relationships to an attribute that has an order.
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
