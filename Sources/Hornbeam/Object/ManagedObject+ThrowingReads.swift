public import HornbeamModel

// Getters do not throw. If the store cannot be read, a getter returns zero, and the context reports the error later. These methods throw.

extension ManagedObject {
    /// The value of an attribute, like `self[token]`.
    ///
    /// - Throws: The store's error if the value cannot be read; `objectNotFound` like `fire()`.
    public final func value<Value: AttributeValue>(of token: Attribute<Value>) throws -> Value {
        try fire()
        return try reading { self[token] }
    }

    /// The destination of a to-one relationship, like `self[token]`.
    ///
    /// - Throws: The errors of `value(of:)`.
    public final func object<Object: ManagedObject>(of token: ToOne<Object>) throws -> Object? {
        try fire()
        return try reading { self[token] }
    }

    /// The objects of a to-many relationship in the order of iteration over `self[token]`.
    ///
    /// - Throws: The errors of `value(of:)`.
    public final func objects<Object: ManagedObject>(of token: ToMany<Object>) throws -> [Object] {
        try objects(of: scope.property(token.nameID))
    }

    /// The objects of an ordered relationship in order.
    ///
    /// - Throws: The errors of `value(of:)`.
    public final func objects<Object: ManagedObject>(of token: OrderedToMany<Object>) throws -> [Object] {
        try objects(of: scope.property(token.nameID))
    }

    private func objects<Object: ManagedObject>(of property: PropertyDescription) throws -> [Object] {
        try fire()
        let ids = try reading { members(of: property) }
        let context = scope.context
        return context.objects(with: ids).map { typed($0, property) }
    }

    /// Runs a read and throws the read failures in it. The context does not report them again.
    final func reading<Result>(_ read: () throws -> Result) throws -> Result {
        let context = scope.context
        if let failure = context.failure(of: self) { throw failure }
        return try context.throwingFailures(of: read)
    }
}
