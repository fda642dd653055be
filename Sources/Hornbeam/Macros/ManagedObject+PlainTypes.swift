public import HornbeamModel

// Access by token with plain types: `Set<Book>` instead of `ManagedSet<Book>`, `Rating` instead of
// `Coded<Rating>`. The compiler selects these only where such a type is expected.

extension ManagedObject {
    /// The objects of a to-many relationship as a `Set`. Takes O(n). Setting it changes the members that differ.
    @_disfavoredOverload
    public final subscript<Object: ManagedObject>(_ token: ToMany<Object>) -> Set<Object> {
        get { self[token].objects }
        set { self[token] = ManagedSet(newValue) }
    }

    /// The objects of an ordered to-many relationship as an `Array`. Takes O(n). Setting it changes the members
    /// that differ, and the order.
    @_disfavoredOverload
    public final subscript<Object: ManagedObject>(_ token: OrderedToMany<Object>) -> [Object] {
        get { Array(self[token]) }
        set { self[token] = ManagedArray(newValue) }
    }

    /// A `Codable` value; the attribute's default if it is missing.
    @_disfavoredOverload
    public final subscript<Value: Codable & Sendable>(_ token: Attribute<Coded<Value>>) -> Value {
        get { codedValue(token.name) }
        set { self[token] = Coded(newValue) }
    }

    /// A `Codable` value; nil if it is missing.
    @_disfavoredOverload
    public final subscript<Value: Codable & Sendable>(_ token: Attribute<Coded<Value>?>) -> Value? {
        get { self[token]?.value }
        set { self[token] = newValue.map { Coded($0) } }
    }

    private func codedValue<Value: Codable & Sendable>(_ name: String) -> Value {
        guard let property = scope.entity.propertiesByName[name] else { return self[Attribute<Coded<Value>>(name)].value }
        let coded: Coded<Value> = decoded(currentValue(of: property), of: property)
        return coded.value
    }
}
