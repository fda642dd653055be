/// A property declared in Swift. A class accesses its property through the token, and the block of an `Entity` declares the property by it.
public protocol PropertyToken: Sendable {
    /// The name of the property in the model.
    var name: String { get }
    /// The part that the token adds to an entity.
    var part: EntityPart { get }
}

/// A token for an attribute with a Swift type.
///
/// ```swift
/// final class Author: ManagedObject {
///     static let name = Attribute<String>("name", unique: true)
///     static let born = Attribute<Int?>("born")
/// }
/// ```
/// `Value` determines the type of the attribute and whether it is optional.
public struct Attribute<Value: AttributeValue>: PropertyToken {
    public let name: String
    @usableFromInline package let nameID: PropertyNameID
    /// The key path of the attribute, made once for all predicates.
    let keyPath: FetchExpression.Node
    private let description: Boxed<AttributeDescription>
    private let isUnique: Bool
    private let isIndexed: Bool

    package init(describing description: AttributeDescription, unique: Bool, indexed: Bool) {
        name = description.name
        nameID = PropertyNameID(description.name)
        keyPath = .keyPath(description.name)
        self.description = Boxed(description)
        isUnique = unique
        isIndexed = indexed
    }

    /// A token for an attribute, with its rules.
    ///
    /// - Parameters:
    ///   - name: The name of the attribute.
    ///   - defaultValue: The value of a new object.
    ///   - type: An attribute type instead of the default type of `Value`, such as `.integer16` for `Int`.
    ///   - unique: Adds a uniqueness constraint.
    ///   - indexed: Adds an index, for fetches that compare or sort by this attribute.
    ///   - transient: The value is tracked and never stored.
    ///   - minimum, maximum: The limits of a number or a date.
    ///   - minimumLength, maximumLength: The limits of a string in characters, or of data in bytes.
    ///   - pattern: A regular expression that the whole string must match.
    ///   - derivation: The expression that computes the value at each save.
    ///   - merge: The merge rule for a value that two contexts changed.
    ///   - composite: The composite that defines the elements, for a dictionary.
    ///   - transformer: The name of the registered transformer that converts the value into bytes.
    ///   - external: Allows a store to save large values outside the row.
    ///   - preserved: The history saves the value of a deleted object.
    ///   - renamingIdentifier: The name of the attribute in older versions of the model.
    public init(
        _ name: String, default defaultValue: Value? = nil, type: AttributeType? = nil,
        unique: Bool = false, indexed: Bool = false, transient: Bool = false,
        minimum: Value? = nil, maximum: Value? = nil,
        minimumLength: Int? = nil, maximumLength: Int? = nil, pattern: String? = nil,
        derivation: String? = nil, merge: MergeRule? = nil, composite: String? = nil, transformer: String? = nil,
        external: Bool = false, preserved: Bool = false, renamedFrom renamingIdentifier: String? = nil
    ) {
        var description = AttributeDescription(
            name, type ?? Value.attributeType, optional: Value.isOptionalValue, transient: transient,
            default: defaultValue?.propertyValue ?? .null,
            minimum: minimum?.propertyValue, maximum: maximum?.propertyValue,
            minimumLength: minimumLength, maximumLength: maximumLength, pattern: pattern,
            derivation: derivation, composite: composite, transformer: transformer, renamedFrom: renamingIdentifier)
        description.allowsExternalBinaryDataStorage = external
        description.preservesValueInHistoryOnDeletion = preserved
        description.mergeRule = merge
        self.init(describing: description, unique: unique, indexed: indexed)
    }

    public var part: EntityPart {
        EntityPart(content: .attribute(description.value, isUnique: isUnique, isIndexed: isIndexed))
    }
}

extension Attribute where Value == PropertyValue {
    /// An attribute with an attribute type instead of a Swift type: `Attribute("title", .string)`.
    public init(
        _ name: String, _ type: AttributeType, optional: Bool = false,
        default defaultValue: PropertyValue = .null, unique: Bool = false, indexed: Bool = false,
        transient: Bool = false, minimum: PropertyValue? = nil, maximum: PropertyValue? = nil,
        minimumLength: Int? = nil, maximumLength: Int? = nil, pattern: String? = nil,
        derivation: String? = nil, merge: MergeRule? = nil, preserved: Bool = false,
        renamedFrom renamingIdentifier: String? = nil
    ) {
        var description = AttributeDescription(
            name, type, optional: optional, transient: transient, default: defaultValue,
            minimum: minimum, maximum: maximum, minimumLength: minimumLength,
            maximumLength: maximumLength, pattern: pattern, derivation: derivation,
            renamedFrom: renamingIdentifier)
        description.mergeRule = merge
        description.preservesValueInHistoryOnDeletion = preserved
        self.init(describing: description, unique: unique, indexed: indexed)
    }
}

/// Access to the Swift type of an attribute token at run time.
package protocol AttributeToken: PropertyToken {
    var valueType: any AttributeValue.Type { get }
}

extension Attribute: AttributeToken {
    package var valueType: any AttributeValue.Type { Value.self }
}

/// The object type of a relationship that has a destination entity and no destination class.
public enum UntypedObject: Sendable {}

/// A to-one relationship.
///
/// `static let author = ToOne<Author>("author", inverse: "books")`. The destination is the entity that `to`
/// names, or the entity with the name of the class if `to` is nil.
public struct ToOne<Object>: PropertyToken {
    public let name: String
    package let nameID: PropertyNameID
    private let description: Boxed<RelationshipDescription>

    public init(
        _ name: String, to destination: String? = nil, inverse: String? = nil, optional: Bool = true,
        deleteRule: DeleteRule = .nullify, merge: MergeRule? = nil, renamedFrom renamingIdentifier: String? = nil
    ) {
        self.name = name
        nameID = PropertyNameID(name)
        var description = RelationshipDescription(
            name, to: destination ?? String(describing: Object.self), inverse: inverse,
            optional: optional, deleteRule: deleteRule, renamedFrom: renamingIdentifier)
        description.mergeRule = merge
        self.description = Boxed(description)
    }

    private init(_ description: RelationshipDescription) {
        name = description.name
        nameID = PropertyNameID(description.name)
        self.description = Boxed(description)
    }

    /// Returns the relationship with a version hash modifier (MOD-12) and user info (MOD-7).
    public func adding(version: String? = nil, userInfo: [String: String] = [:]) -> Self {
        Self(description.value.adding(version: version, userInfo: userInfo))
    }

    public var part: EntityPart { EntityPart(content: .relationship(description.value)) }
}

extension ToOne where Object == UntypedObject {
    /// A to-one relationship to the named entity: `ToOne("author", to: "Author", inverse: "books")`.
    public init(
        _ name: String, to destination: String, inverse: String? = nil, optional: Bool = true,
        deleteRule: DeleteRule = .nullify, merge: MergeRule? = nil, renamedFrom renamingIdentifier: String? = nil
    ) {
        self.init(
            name, to: Optional(destination), inverse: inverse, optional: optional,
            deleteRule: deleteRule, merge: merge, renamedFrom: renamingIdentifier)
    }
}

/// An unordered to-many relationship.
///
/// `static let books = ToMany<Book>("books", inverse: "author", deleteRule: .cascade)`.
public struct ToMany<Object>: PropertyToken {
    public let name: String
    package let nameID: PropertyNameID
    private let description: Boxed<RelationshipDescription>

    public init(
        _ name: String, to destination: String? = nil, inverse: String? = nil, optional: Bool = true,
        minCount: Int = 0, maxCount: Int = 0, deleteRule: DeleteRule = .nullify,
        renamedFrom renamingIdentifier: String? = nil
    ) {
        self.name = name
        nameID = PropertyNameID(name)
        description = Boxed(RelationshipDescription(
            name, to: destination ?? String(describing: Object.self), inverse: inverse, toMany: true,
            optional: optional, minCount: minCount, maxCount: maxCount, deleteRule: deleteRule,
            renamedFrom: renamingIdentifier))
    }

    private init(_ description: RelationshipDescription) {
        name = description.name
        nameID = PropertyNameID(description.name)
        self.description = Boxed(description)
    }

    /// Returns the relationship with a version hash modifier (MOD-12) and user info (MOD-7).
    public func adding(version: String? = nil, userInfo: [String: String] = [:]) -> Self {
        Self(description.value.adding(version: version, userInfo: userInfo))
    }

    public var part: EntityPart { EntityPart(content: .relationship(description.value)) }
}

extension ToMany where Object == UntypedObject {
    /// A to-many relationship to the named entity.
    public init(
        _ name: String, to destination: String, inverse: String? = nil, optional: Bool = true,
        minCount: Int = 0, maxCount: Int = 0, deleteRule: DeleteRule = .nullify,
        renamedFrom renamingIdentifier: String? = nil
    ) {
        self.init(
            name, to: Optional(destination), inverse: inverse, optional: optional, minCount: minCount,
            maxCount: maxCount, deleteRule: deleteRule, renamedFrom: renamingIdentifier)
    }
}

/// An ordered to-many relationship (REL-5).
public struct OrderedToMany<Object>: PropertyToken {
    public let name: String
    package let nameID: PropertyNameID
    private let description: Boxed<RelationshipDescription>

    public init(
        _ name: String, to destination: String? = nil, inverse: String? = nil, optional: Bool = true,
        minCount: Int = 0, maxCount: Int = 0, deleteRule: DeleteRule = .nullify,
        renamedFrom renamingIdentifier: String? = nil
    ) {
        self.name = name
        nameID = PropertyNameID(name)
        description = Boxed(RelationshipDescription(
            name, to: destination ?? String(describing: Object.self), inverse: inverse, toMany: true,
            ordered: true, optional: optional, minCount: minCount, maxCount: maxCount,
            deleteRule: deleteRule, renamedFrom: renamingIdentifier))
    }

    private init(_ description: RelationshipDescription) {
        name = description.name
        nameID = PropertyNameID(description.name)
        self.description = Boxed(description)
    }

    /// Returns the relationship with a version hash modifier (MOD-12) and user info (MOD-7).
    public func adding(version: String? = nil, userInfo: [String: String] = [:]) -> Self {
        Self(description.value.adding(version: version, userInfo: userInfo))
    }

    public var part: EntityPart { EntityPart(content: .relationship(description.value)) }
}

extension OrderedToMany where Object == UntypedObject {
    /// An ordered to-many relationship to the named entity.
    public init(
        _ name: String, to destination: String, inverse: String? = nil, optional: Bool = true,
        minCount: Int = 0, maxCount: Int = 0, deleteRule: DeleteRule = .nullify,
        renamedFrom renamingIdentifier: String? = nil
    ) {
        self.init(
            name, to: Optional(destination), inverse: inverse, optional: optional, minCount: minCount,
            maxCount: maxCount, deleteRule: deleteRule, renamedFrom: renamingIdentifier)
    }
}

/// A token with the Swift type of the destination's objects.
package protocol RelationshipToken: PropertyToken {
    var destinationClass: Any.Type { get }
    /// True for a to-many relationship, ordered or not.
    var isToMany: Bool { get }
    /// True when a class is the destination class or a subclass of it.
    func leads(to type: Any.Type) -> Bool
}

extension ToOne: RelationshipToken {
    package var isToMany: Bool { false }
    package var destinationClass: Any.Type { Object.self }
    package func leads(to type: Any.Type) -> Bool { type is Object.Type }
}

extension ToMany: RelationshipToken {
    package var isToMany: Bool { true }
    package var destinationClass: Any.Type { Object.self }
    package func leads(to type: Any.Type) -> Bool { type is Object.Type }
}

extension OrderedToMany: RelationshipToken {
    package var isToMany: Bool { true }
    package var destinationClass: Any.Type { Object.self }
    package func leads(to type: Any.Type) -> Bool { type is Object.Type }
}

/// A reference to a large value. It makes tokens small, because every property access passes a token.
final class Boxed<Value: Sendable>: Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
