/// An entity of a compiled model: its properties, inherited ones included, and its position in the hierarchy.
///
/// Immutable. A compiled model and its parts refer to one another and live until the process ends. A part
/// therefore stays valid without a reference to its model.
public final class EntityDescription: Sendable {
    /// The name, unique within the model.
    public let name: String
    /// The position in `model.entities`.
    public let index: Int
    /// The entity as declared, without inherited parts.
    public let definition: Entity
    /// Attributes and relationships: first the inherited ones, then own attributes, then own relationships.
    public let properties: [PropertyDescription]
    /// The attributes and relationships by name.
    public let propertiesByName: [String: PropertyDescription]
    /// The properties that are attributes, in the order of `properties`.
    public let attributes: [PropertyDescription]
    /// The attributes by name.
    public let attributesByName: [String: PropertyDescription]
    /// The properties that are relationships, in the order of `properties`.
    public let relationships: [PropertyDescription]
    /// The relationships by name.
    public let relationshipsByName: [String: PropertyDescription]
    /// The fetched properties, first the inherited ones. They have no index and are not part of `properties`.
    public let fetchedProperties: [FetchedPropertyDescription]
    /// The fetched properties by name.
    public let fetchedPropertiesByName: [String: FetchedPropertyDescription]
    /// The superentity; nil for a root (MOD-4).
    public let superentity: EntityDescription?

    /// The index of each property, at the position `nameID.number - firstNameID`; −1 for a name that is not a property of this entity.
    @usableFromInline package let indexByNameID: [Int32]
    @usableFromInline package let firstNameID: Int

    // Unchecked access: the compiler sets it once, before other threads can see the model, and then it is only read.
    nonisolated(unsafe) private var link: Link?

    private struct Link {
        let model: ManagedObjectModel
        let subentities: [EntityDescription]
        let concrete: [EntityDescription]
        let constraints: [UniquenessConstraint]
        let indexes: [FetchIndex]
    }

    init(definition: Entity, index: Int, superentity: EntityDescription?, own: [PropertyDescription]) {
        name = definition.name
        self.index = index
        self.definition = definition
        self.superentity = superentity
        properties = (superentity?.properties ?? []) + own
        attributes = properties.filter(\.isAttribute)
        relationships = properties.filter(\.isRelationship)
        fetchedProperties = (superentity?.fetchedProperties ?? []) + definition.fetchedProperties
        // If several properties have the same name, the first is used here, and the compiler reports the others.
        propertiesByName = Dictionary(properties.map { ($0.name, $0) }) { first, _ in first }
        attributesByName = Dictionary(attributes.map { ($0.name, $0) }) { first, _ in first }
        relationshipsByName = Dictionary(relationships.map { ($0.name, $0) }) { first, _ in first }
        fetchedPropertiesByName = Dictionary(fetchedProperties.map { ($0.name, $0) }) { first, _ in first }
        let numbers = properties.map(\.nameID.number)
        firstNameID = numbers.min() ?? 0
        var table = Array(repeating: Int32(-1), count: (numbers.max() ?? -1) - firstNameID + 1)
        for (property, number) in zip(properties, numbers) { table[number - firstNameID] = Int32(property.index) }
        indexByNameID = table
    }

    func resolve(
        model: ManagedObjectModel, subentities: [EntityDescription], concrete: [EntityDescription],
        constraints: [UniquenessConstraint], indexes: [FetchIndex]
    ) {
        unsafe precondition(link == nil, "An entity is resolved once.")
        unsafe link = Link(
            model: model, subentities: subentities, concrete: concrete, constraints: constraints, indexes: indexes)
    }

    private var resolved: Link {
        guard let link = unsafe link else { preconditionFailure("The entity is read before its model is complete.") }
        return link
    }

    /// The model of the entity (MDL-6).
    public var managedObjectModel: ManagedObjectModel { resolved.model }

    /// The entities directly below this one, in the order of the model.
    public var subentities: [EntityDescription] { resolved.subentities }

    /// The index of the property with this name; nil when the entity has no such property. One array access.
    @inlinable package func index(of name: PropertyNameID) -> Int? {
        let place = name.number - firstNameID
        guard place >= 0, place < indexByNameID.count else { return nil }
        let index = indexByNameID[place]
        return index < 0 ? nil : Int(index)
    }

    /// The constraints of this entity and of its superentities, those of the root first (MOD-8).
    public var uniquenessConstraints: [UniquenessConstraint] { resolved.constraints }

    /// The indexes of this entity and of its superentities, those of the root first (MOD-9).
    public var fetchIndexes: [FetchIndex] { resolved.indexes }
}

extension EntityDescription {
    /// The Swift class of the objects; nil means `ManagedObject`.
    public var className: String? { definition.className }
    /// True if only subentities have objects (MOD-3).
    public var isAbstract: Bool { definition.isAbstract }
    /// The name of the entity in older versions of the model (MOD-13).
    public var renamingIdentifier: String { definition.renamingIdentifier ?? name }
    /// The app's own texts by key; not part of the version hash (MOD-7).
    public var userInfo: [String: String] { definition.userInfo }

    /// The entities directly below this one, by name. O(number of subentities).
    public var subentitiesByName: [String: EntityDescription] {
        Dictionary(uniqueKeysWithValues: subentities.map { ($0.name, $0) })
    }

    /// True when the other entity is this entity or one of its superentities (MOD-4).
    public func isKind(of other: EntityDescription) -> Bool {
        var entity: EntityDescription? = self
        while let current = entity {
            if current === other { return true }
            entity = current.superentity
        }
        return false
    }

    /// The topmost entity of the hierarchy.
    public var rootEntity: EntityDescription { superentity?.rootEntity ?? self }

    /// The relationships whose destination is the given entity (MOD-5).
    public func relationships(forDestination entity: EntityDescription) -> [PropertyDescription] {
        relationships.filter { $0.destinationEntity === entity }
    }

    /// The concrete entities among this one and its descendants, in depth-first order.
    public var concreteDescendants: [EntityDescription] { resolved.concrete }

    /// The property with the given name.
    ///
    /// - Throws: `HornbeamError` with code `unknownKey`. The message suggests a similar name.
    public func property(named name: String) throws -> PropertyDescription {
        if let property = propertiesByName[name] { return property }
        throw HornbeamError(
            .unknownKey,
            "The entity “\(self.name)” has no property “\(name)”"
                + suggestion(for: name, among: properties.map(\.name)) + ".",
            entity: self.name, key: name)
    }
}

extension EntityDescription: Hashable, CustomStringConvertible {
    public static func == (a: EntityDescription, b: EntityDescription) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    public var description: String {
        let parent = superentity.map { ": \($0.name)" } ?? ""
        return "\(isAbstract ? "abstract " : "")\(name)\(parent) "
            + "(\(attributes.count) attributes, \(relationships.count) relationships)"
    }
}

/// Iterates over the properties (MOD-5).
extension EntityDescription: Sequence {
    public func makeIterator() -> IndexingIterator<[PropertyDescription]> { properties.makeIterator() }
}
