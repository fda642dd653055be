public import HornbeamModel

/// A copy of an object's values: a `Sendable` and `Codable` value.
///
/// ```swift
/// let book = try container.read { try $0.first(Book.self) { $0.title == "Frankenstein" }?.snapshot(depth: 1) }
/// print(book?.title ?? "", book?.author?.snapshot?.name ?? "")
/// ```
/// `Book.Snapshot` is `ObjectSnapshot<Book>`. Its members have the names and types of the class's tokens:
///
/// | property | member |
/// |---|---|
/// | an attribute | its value |
/// | a to-one relationship | a `Reference`; nil without a destination |
/// | a to-many relationship | an array of snapshots, in order; nil when the snapshot does not follow the relationship |
///
/// A property with the name of one of the type's own members, such as `id`, is read by its token: `snapshot[Book.id]`. Later changes
/// of the object have no effect. Snapshots are equal when they have the same values of the same object and follow the same relationships.
@dynamicMemberLookup
public struct ObjectSnapshot<Object: ManagedObject>: Hashable, Sendable, Identifiable {
    let snapshotNode: SnapshotNode

    init(_ node: SnapshotNode) { snapshotNode = node }

    /// The values of an object, as `object.snapshot(depth:)` gives them; for classes with a property that is called `snapshot`.
    public init(_ object: Object, depth: Int = 0) { self.init(SnapshotNode(object, following: .depth(depth))) }

    /// The ID of the object; temporary if it is not saved.
    public var objectID: ManagedObjectID { snapshotNode.objectID }

    public var id: ManagedObjectID { snapshotNode.objectID }

    // MARK: Attributes

    /// The value of an attribute, like the object's getter.
    public subscript<Value: AttributeValue>(_ token: Attribute<Value>) -> Value { snapshotNode.value(of: token) }

    /// The value of an attribute, like the object's getter.
    public subscript<Value: AttributeValue>(dynamicMember path: KeyPath<Object.Type, Attribute<Value>>) -> Value {
        snapshotNode.value(of: Object.self[keyPath: path])
    }

    /// The `Codable` value of an attribute, like the object's getter.
    public subscript<Value: Codable & Sendable>(dynamicMember path: KeyPath<Object.Type, Attribute<Coded<Value>>>) -> Value {
        snapshotNode.value(of: Object.self[keyPath: path]).value
    }

    /// The `Codable` value of an attribute; nil when it is missing.
    public subscript<Value: Codable & Sendable>(dynamicMember path: KeyPath<Object.Type, Attribute<Coded<Value>?>>) -> Value? {
        snapshotNode.value(of: Object.self[keyPath: path])?.value
    }

    /// The value of an attribute by name, or the ID in a to-one relationship; nil for other names.
    public subscript(_ key: String) -> PropertyValue? { snapshotNode.values[key] }

    // MARK: Relationships

    /// The destination of a to-one relationship; nil when there is none.
    public subscript<Destination: ManagedObject>(_ token: ToOne<Destination>) -> Reference<Destination>? {
        guard case .objectID(let id) = snapshotNode.value(named: token.name) else { return nil }
        return Reference(objectID: id, snapshot: snapshotNode.toOne[token.name].map(ObjectSnapshot<Destination>.init))
    }

    /// The objects of a relationship; nil when the snapshot does not follow it.
    public subscript<Destination: ManagedObject>(_ token: ToMany<Destination>) -> [ObjectSnapshot<Destination>]? { members(token.name) }

    /// The objects of an ordered relationship in order; nil when the snapshot does not follow it.
    public subscript<Destination: ManagedObject>(_ token: OrderedToMany<Destination>) -> [ObjectSnapshot<Destination>]? {
        members(token.name)
    }

    /// The destination of a to-one relationship; nil when there is none.
    public subscript<Destination: ManagedObject>(
        dynamicMember path: KeyPath<Object.Type, ToOne<Destination>>
    ) -> Reference<Destination>? { self[Object.self[keyPath: path]] }

    /// The objects of a relationship; nil when the snapshot does not follow it.
    public subscript<Destination: ManagedObject>(
        dynamicMember path: KeyPath<Object.Type, ToMany<Destination>>
    ) -> [ObjectSnapshot<Destination>]? { self[Object.self[keyPath: path]] }

    /// The objects of an ordered relationship in order; nil when the snapshot does not follow it.
    public subscript<Destination: ManagedObject>(
        dynamicMember path: KeyPath<Object.Type, OrderedToMany<Destination>>
    ) -> [ObjectSnapshot<Destination>]? { self[Object.self[keyPath: path]] }

    private func members<Destination>(_ name: String) -> [ObjectSnapshot<Destination>]? {
        snapshotNode.toMany[name]?.map(ObjectSnapshot<Destination>.init)
    }

    /// The destination of a to-one relationship.
    public struct Reference<Destination: ManagedObject>: Hashable, Sendable, Identifiable {
        /// The ID of the object.
        public let objectID: ManagedObjectID
        /// The values of the object; nil when the snapshot does not follow the relationship.
        public let snapshot: ObjectSnapshot<Destination>?

        public var id: ManagedObjectID { objectID }
    }
}

/// Encoded as one object: `objectID`, the attributes by name in the form of their Swift types, followed relationships as objects, other
/// to-one relationships as IDs.
///
/// Attributes and relationships are those in the class's `tokens`, which `@Entity` writes. Encoding throws `EncodingError` when the class
/// does not list one, decoding throws `DecodingError` when a required attribute is missing. An object of a subclass is encoded with the
/// properties of the declared class: those of the snapshot's type, or of the relationship's destination.
extension ObjectSnapshot: Codable {
    public init(from decoder: any Decoder) throws { self.init(try SnapshotNode(from: decoder, as: Object.self)) }

    public func encode(to encoder: any Encoder) throws { try snapshotNode.encode(to: encoder, as: Object.self) }
}

/// Predicates can be evaluated on snapshots. Relationships that are not followed have IDs as values, or no value.
extension ObjectSnapshot: KeyedValues {
    public var evaluatedIdentity: PropertyValue? { snapshotNode.evaluatedIdentity }
    public var evaluatedKeys: [String]? { snapshotNode.evaluatedKeys }
    public func evaluatedValue(forKey key: String) throws -> EvaluatedValue { try snapshotNode.evaluatedValue(forKey: key) }
}
