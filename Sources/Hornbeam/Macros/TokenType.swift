public import HornbeamModel

/// Finds the kind of token for a property's type: `TokenType.of(Author?.self).init("author")` is a `ToOne<Author>`.
///
/// `@Entity` asks for types that it cannot know from their names. The compiler answers, by choosing among the functions here.
public enum TokenType {
    /// An attribute.
    public static func of<Value: AttributeValue>(_ type: Value.Type) -> Attribute<Value>.Type { Attribute<Value>.self }

    /// A relationship to one object.
    public static func of<Object: ManagedObject>(_ type: Object?.Type) -> ToOne<Object>.Type { ToOne<Object>.self }
    /// A relationship to many objects.
    public static func of<Object: ManagedObject>(_ type: Set<Object>.Type) -> ToMany<Object>.Type { ToMany<Object>.self }
    /// A relationship to many objects.
    public static func of<Object: ManagedObject>(_ type: ManagedSet<Object>.Type) -> ToMany<Object>.Type { ToMany<Object>.self }
    /// An ordered relationship to many objects.
    public static func of<Object: ManagedObject>(_ type: [Object].Type) -> OrderedToMany<Object>.Type { OrderedToMany<Object>.self }
    /// An ordered relationship to many objects.
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

    // What is refused, with what to write instead.

    /// Refused: an object without `?`. Its declaration names the remedy.
    public static func of<Object: ManagedObject>(_ type: Object.Type) -> RequiredObject<Object>.Type { RequiredObject<Object>.self }

    /// Refused: a type that no attribute can store. Its declaration names the remedy.
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

    /// A property whose type no attribute can have.
    public struct Unstorable<Value>: RefusedToken {
        @available(
            *, unavailable,
            message: "A property of this type cannot be stored: conform to AttributeValue, or to Codable and Sendable, or mark it @Transient."
        )
        public init(_ name: String, default: Value? = nil) {}
    }
}

/// The token of a property that is refused where the token is made. It stands in for one where tokens are listed.
public protocol RefusedToken: PropertyToken {}

extension RefusedToken {
    public var name: String { misuse("A refused property has no token, since its initialiser is unavailable.") }
    public var part: EntityPart { misuse("A refused property has no token, since its initialiser is unavailable.") }
}
