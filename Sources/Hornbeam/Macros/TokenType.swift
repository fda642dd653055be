public import HornbeamModel

/// Selects the token type for a property's type: `TokenType.of(Author?.self).init("author")` is a `ToOne<Author>`.
///
/// `@Entity` uses it for types whose kind cannot be determined from their names. The compiler's overload resolution selects the function.
public enum TokenType {
    /// An attribute.
    public static func of<Value: AttributeValue>(_ type: Value.Type) -> Attribute<Value>.Type { Attribute<Value>.self }

    /// A to-one relationship.
    public static func of<Object: ManagedObject>(_ type: Object?.Type) -> ToOne<Object>.Type { ToOne<Object>.self }
    /// A to-many relationship.
    public static func of<Object: ManagedObject>(_ type: Set<Object>.Type) -> ToMany<Object>.Type { ToMany<Object>.self }
    /// A to-many relationship.
    public static func of<Object: ManagedObject>(_ type: ManagedSet<Object>.Type) -> ToMany<Object>.Type { ToMany<Object>.self }
    /// An ordered to-many relationship.
    public static func of<Object: ManagedObject>(_ type: [Object].Type) -> OrderedToMany<Object>.Type { OrderedToMany<Object>.self }
    /// An ordered to-many relationship.
    public static func of<Object: ManagedObject>(_ type: ManagedArray<Object>.Type) -> OrderedToMany<Object>.Type {
        OrderedToMany<Object>.self
    }

    /// An attribute that stores JSON.
    @_disfavoredOverload
    public static func of<Value: Codable & Sendable>(_ type: Value.Type) -> Attribute<Coded<Value>>.Type { Attribute<Coded<Value>>.self }
    /// An optional attribute that stores JSON.
    @_disfavoredOverload
    public static func of<Value: Codable & Sendable>(_ type: Value?.Type) -> Attribute<Coded<Value>?>.Type {
        Attribute<Coded<Value>?>.self
    }

    // Refused types. The message of each token's unavailable initialiser names the remedy.

    /// Refused: an object type without `?`.
    public static func of<Object: ManagedObject>(_ type: Object.Type) -> RequiredObject<Object>.Type { RequiredObject<Object>.self }

    /// Refused: a type that no attribute can store.
    @_disfavoredOverload
    public static func of<Value>(_ type: Value.Type) -> Unstorable<Value>.Type { Unstorable<Value>.self }

    /// A property whose type is an entity's class without `?`.
    public struct RequiredObject<Value>: RefusedToken {
        @available(
            *, unavailable,
            message: "A relationship to one object is optional in Swift: add ? to its type, and @Relationship(optional: false) where saving needs one."
        )
        public init(_ name: String) {}
    }

    /// A property whose type no attribute can store.
    public struct Unstorable<Value>: RefusedToken {
        @available(
            *, unavailable,
            message: "A property of this type cannot be stored: conform to AttributeValue, or to Codable and Sendable, or mark it @Transient."
        )
        public init(_ name: String, default: Value? = nil) {}
    }
}

/// The token of a refused property. It makes lists of tokens compile up to the message of its initialiser.
public protocol RefusedToken: PropertyToken {}

extension RefusedToken {
    public var name: String { misuse("A refused property has no token, since its initialiser is unavailable.") }
    public var part: EntityPart { misuse("A refused property has no token, since its initialiser is unavailable.") }
}
