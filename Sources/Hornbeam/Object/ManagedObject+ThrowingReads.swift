public import HornbeamModel

// Getters are total: where the store cannot be read they give zeros, and the context says so later. These calls throw instead.

extension ManagedObject {
    /// The value of an attribute, as `self[token]` gives it.
    ///
    /// - Throws: The store's error where the value cannot be read, `objectNotFound` where `fire` throws it.
    public final func value<Value: AttributeValue>(of token: Attribute<Value>) throws -> Value {
        try fire()
        return try reading { self[token] }
    }

    /// The object at the other end of a to-one relationship, as `self[token]` gives it.
    ///
    /// - Throws: As `value(of:)`.
    public final func object<Object: ManagedObject>(of token: ToOne<Object>) throws -> Object? {
        try fire()
        return try reading { self[token] }
    }

    /// The objects of a to-many relationship in the order in which `self[token]` iterates.
    ///
    /// - Throws: As `value(of:)`.
    public final func objects<Object: ManagedObject>(of token: ToMany<Object>) throws -> [Object] {
        try objects(of: scope.property(token.nameID))
    }

    /// The objects of an ordered relationship in their order.
    ///
    /// - Throws: As `value(of:)`.
    public final func objects<Object: ManagedObject>(of token: OrderedToMany<Object>) throws -> [Object] {
        try objects(of: scope.property(token.nameID))
    }

    private func objects<Object: ManagedObject>(of property: PropertyDescription) throws -> [Object] {
        try fire()
        let ids = try reading { members(of: property) }
        let context = scope.context
        return context.objects(with: ids).map { typed($0, property) }
    }

    /// Runs a read, and throws what it could not read. What is thrown is not reported by the context again.
    final func reading<Result>(_ read: () throws -> Result) throws -> Result {
        let context = scope.context
        if let failure = context.failure(of: self) { throw failure }
        return try context.throwingFailures(of: read)
    }
}
