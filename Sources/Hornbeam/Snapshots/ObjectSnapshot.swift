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
/// | a to-many relationship | an array of snapshots, in order; nil if the snapshot does not follow the relationship |
///
/// If a property has the same name as a member of this type, such as `id`, read it by its token: `snapshot[Book.id]`. Later changes
/// of the object have no effect. Snapshots are equal if they have the same values of the same object and follow the same relationships.
@dynamicMemberLookup
public struct ObjectSnapshot<Object: ManagedObject>: Hashable, Sendable, Identifiable {
    let snapshotNode: SnapshotNode

    init(_ node: SnapshotNode) { snapshotNode = node }

    /// Copies the values of an object, like `object.snapshot(depth:)`. For classes with a property named `snapshot`.
    public init(_ object: Object, depth: Int = 0) { self.init(SnapshotNode(object, following: .depth(depth))) }

    /// Returns the snapshot with the members of another class, usually a subclass: `item.snapshot.as(Book.self)?.title`. Nil if the object does
    /// not have this class. A decoded snapshot has the class that it was decoded as.
    public func `as`<Other: ManagedObject>(_ type: Other.Type) -> ObjectSnapshot<Other>? {
        snapshotNode.objectClass is Other.Type ? ObjectSnapshot<Other>(snapshotNode) : nil
    }

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

    /// The `Codable` value of an attribute; nil if it is missing.
    public subscript<Value: Codable & Sendable>(dynamicMember path: KeyPath<Object.Type, Attribute<Coded<Value>?>>) -> Value? {
        snapshotNode.value(of: Object.self[keyPath: path])?.value
    }

    /// The value of an attribute, or the ID in a to-one relationship, by name; nil for other names.
    public subscript(_ key: String) -> PropertyValue? { snapshotNode.values[key] }

    // MARK: Relationships

    /// The destination of a to-one relationship; nil if there is none.
    public subscript<Destination: ManagedObject>(_ token: ToOne<Destination>) -> Reference<Destination>? {
        guard case .objectID(let id) = snapshotNode.value(named: token.name) else { return nil }
        return Reference(objectID: id, snapshot: snapshotNode.toOne[token.name].map(ObjectSnapshot<Destination>.init))
    }

    /// The objects of a relationship; nil if the snapshot does not follow it.
    public subscript<Destination: ManagedObject>(_ token: ToMany<Destination>) -> [ObjectSnapshot<Destination>]? { members(token.name) }

    /// The objects of an ordered relationship in order; nil if the snapshot does not follow it.
    public subscript<Destination: ManagedObject>(_ token: OrderedToMany<Destination>) -> [ObjectSnapshot<Destination>]? {
        members(token.name)
    }

    /// The destination of a to-one relationship; nil if there is none.
    public subscript<Destination: ManagedObject>(
        dynamicMember path: KeyPath<Object.Type, ToOne<Destination>>
    ) -> Reference<Destination>? { self[Object.self[keyPath: path]] }

    /// The objects of a relationship; nil if the snapshot does not follow it.
    public subscript<Destination: ManagedObject>(
        dynamicMember path: KeyPath<Object.Type, ToMany<Destination>>
    ) -> [ObjectSnapshot<Destination>]? { self[Object.self[keyPath: path]] }

    /// The objects of an ordered relationship in order; nil if the snapshot does not follow it.
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
        /// The values of the object; nil if the snapshot does not follow the relationship.
        public let snapshot: ObjectSnapshot<Destination>?

        public var id: ManagedObjectID { objectID }
    }
}

/// A snapshot is encoded as one object: `objectID`, the attributes by name in the form of their Swift types, the followed relationships as
/// objects, and the other to-one relationships as IDs.
///
/// The attributes and relationships are those in the `tokens` of the object's class, which `@Entity` generates. Encoding throws `EncodingError`
/// if the class omits a property of the object's entity. Decoding throws `DecodingError` if a required attribute is missing.
///
/// An object of a subclass is encoded with all its properties. Decoding reads the properties of the declared class: the class of the snapshot's
/// type, or of the relationship's destination. It reads those of subclasses too if the decoder knows these:
/// `decoder.userInfo[.snapshotClasses] = [Book.self]`.
extension ObjectSnapshot: Codable {
    public init(from decoder: any Decoder) throws { self.init(try SnapshotNode(from: decoder, as: Object.self)) }

    public func encode(to encoder: any Encoder) throws { try snapshotNode.encode(to: encoder) }
}

extension CodingUserInfoKey {
    /// The subclasses that a decoder of snapshots knows, `[ManagedObject.Type]`.
    public static let snapshotClasses = CodingUserInfoKey(rawValue: "hornbeam.snapshotClasses")!
}

/// Predicates can be evaluated on snapshots. A to-one relationship that the snapshot does not follow has an ID as its value.
extension ObjectSnapshot: KeyedValues {
    public var evaluatedIdentity: PropertyValue? { snapshotNode.evaluatedIdentity }
    public var evaluatedKeys: [String]? { snapshotNode.evaluatedKeys }
    public func evaluatedValue(forKey key: String) throws -> EvaluatedValue { try snapshotNode.evaluatedValue(forKey: key) }
}
