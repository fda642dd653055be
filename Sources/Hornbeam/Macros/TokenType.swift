public import HornbeamModel

/// Finds the kind of token for a property's type: `TokenType.of(Author?.self).init("author")` is a `ToOne<Author>`.
///
/// `@Entity` asks for types that it cannot know from their names. The compiler answers, by choosing among the functions here.
public enum TokenType {
    public static func of<Value: AttributeValue>(_ type: Value.Type) -> Attribute<Value>.Type { Attribute<Value>.self }

    public static func of<Object: ManagedObject>(_ type: Object?.Type) -> ToOne<Object>.Type { ToOne<Object>.self }
    public static func of<Object: ManagedObject>(_ type: Set<Object>.Type) -> ToMany<Object>.Type { ToMany<Object>.self }
    public static func of<Object: ManagedObject>(_ type: ManagedSet<Object>.Type) -> ToMany<Object>.Type { ToMany<Object>.self }
    public static func of<Object: ManagedObject>(_ type: [Object].Type) -> OrderedToMany<Object>.Type { OrderedToMany<Object>.self }
    public static func of<Object: ManagedObject>(_ type: ManagedArray<Object>.Type) -> OrderedToMany<Object>.Type {
        OrderedToMany<Object>.self
    }

    @_disfavoredOverload
    public static func of<Value: Codable & Sendable>(_ type: Value.Type) -> Attribute<Coded<Value>>.Type { Attribute<Coded<Value>>.self }
    @_disfavoredOverload
    public static func of<Value: Codable & Sendable>(_ type: Value?.Type) -> Attribute<Coded<Value>?>.Type {
        Attribute<Coded<Value>?>.self
    }

    // What is refused, with what to write instead.

    public static func of<Object: ManagedObject>(_ type: Object.Type) -> RequiredObject<Object>.Type { RequiredObject<Object>.self }

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
