/// An entity as declared in a model, with its properties, constraints and indexes (MOD-1).
///
/// ```swift
/// Entity("Author") {
///     Attribute<String>("name", unique: true)
///     Attribute<Int?>("born")
///     ToMany<Book>("books", inverse: "author", deleteRule: .cascade)
/// }
/// ```
public struct Entity: Hashable, Sendable {
    /// The name, unique within the model.
    public var name: String
    /// The Swift class of the objects; nil means `ManagedObject` (MOD-2).
    public var className: String?
    /// The name of the entity from which this entity inherits (MOD-4).
    public var superentityName: String?
    /// True when only subentities have objects (MOD-3).
    public var isAbstract: Bool
    /// The attributes of the entity itself, without inherited ones.
    public var attributes: [AttributeDescription]
    /// The relationships of the entity itself, without inherited ones.
    public var relationships: [RelationshipDescription]
    /// The fetched properties of the entity itself, without inherited ones.
    public var fetchedProperties: [FetchedPropertyDescription]
    /// Groups of properties. No two objects have the same values for all properties of a group (MOD-8).
    public var uniquenessConstraints: [[String]]
    /// The indexes that make fetches fast (MOD-9).
    public var fetchIndexes: [FetchIndexDescription]
    /// The name of this entity in older versions of the model; nil means `name` (MOD-13).
    public var renamingIdentifier: String?
    /// Text that makes this version differ from an otherwise equal one (MOD-12).
    public var versionHashModifier: String?
    /// A setting for the platform's search index (MOD-14).
    public var coreSpotlightDisplayNameExpression: String?
    /// The app's own texts by key; not part of the version hash (MOD-7).
    public var userInfo: [String: String]

    /// An entity with the given parts.
    public init(
        _ name: String, className: String? = nil, parent: String? = nil, abstract: Bool = false,
        attributes: [AttributeDescription] = [], relationships: [RelationshipDescription] = [],
        uniquenessConstraints: [[String]] = [], fetchIndexes: [FetchIndexDescription] = [],
        renamedFrom renamingIdentifier: String? = nil, userInfo: [String: String] = [:]
    ) {
        self.name = name
        self.className = className
        superentityName = parent
        isAbstract = abstract
        self.attributes = attributes
        self.relationships = relationships
        fetchedProperties = []
        self.uniquenessConstraints = uniquenessConstraints
        self.fetchIndexes = fetchIndexes
        self.renamingIdentifier = renamingIdentifier
        versionHashModifier = nil
        coreSpotlightDisplayNameExpression = nil
        self.userInfo = userInfo
    }

    /// An entity whose parts are listed in a block.
    public init(
        _ name: String, className: String? = nil, parent: String? = nil, abstract: Bool = false,
        renamedFrom renamingIdentifier: String? = nil, userInfo: [String: String] = [:],
        @EntityBuilder _ parts: () -> [EntityPart]
    ) {
        self.init(
            name, className: className, parent: parent, abstract: abstract,
            renamedFrom: renamingIdentifier, userInfo: userInfo)
        for part in parts() { part.add(to: &self) }
    }
}
