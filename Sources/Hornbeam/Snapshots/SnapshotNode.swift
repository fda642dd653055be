internal import HornbeamModel

/// The values of one object, and the objects of the followed relationships. A snapshot of any class contains one.
struct SnapshotNode: Sendable {
    let objectID: ManagedObjectID
    /// The class whose tokens give the Swift types of the values: the object's class, or for a decoded node the class that it was decoded as.
    let objectClass: ManagedObject.Type
    /// The attributes by name, and the IDs in to-one relationships.
    let values: [String: PropertyValue]
    /// The objects of followed to-one relationships.
    let toOne: [String: SnapshotNode]
    /// The objects of followed to-many relationships.
    let toMany: [String: [SnapshotNode]]
    /// The object's entity; nil for a decoded node. Its defaults replace values that the Swift type cannot decode.
    let entity: EntityDescription?

    init(
        objectID: ManagedObjectID, objectClass: ManagedObject.Type, values: [String: PropertyValue], toOne: [String: SnapshotNode],
        toMany: [String: [SnapshotNode]]
    ) {
        self.objectID = objectID
        self.objectClass = objectClass
        self.values = values
        self.toOne = toOne
        self.toMany = toMany
        entity = nil
    }

    /// Copies an object's values, including unsaved changes. Fires a fault. If this fails, the values are those that the getters return.
    init(_ object: ManagedObject, following extent: SnapshotExtent) {
        let entity = object.entity
        extent.requireRelationships(of: entity)
        var values: [String: PropertyValue] = [:]
        var toOne: [String: SnapshotNode] = [:]
        var toMany: [String: [SnapshotNode]] = [:]
        values.reserveCapacity(entity.properties.count)
        for property in entity.properties {
            let next = property.isRelationship ? extent.next(property.name) : nil
            if property.isToMany {
                guard let next else { continue }
                let ids = object.members(of: property)
                let members = object.readingContext?.objects(with: ids) ?? []
                toMany[property.name] = members.map { SnapshotNode($0, following: next) }
            } else {
                values[property.name] = object.currentValue(of: property)
                if let next, let destination = object.destination(of: property) {
                    toOne[property.name] = SnapshotNode(destination, following: next)
                }
            }
        }
        objectID = object.objectID
        objectClass = Swift.type(of: object)
        self.values = values
        self.toOne = toOne
        self.toMany = toMany
        self.entity = entity
    }

    func value(named name: String) -> PropertyValue {
        guard let value = values[name] else {
            misuse("The snapshot of \(objectID.entityName) has no property “\(name)”. A class whose snapshots are decoded lists it in `tokens`.")
        }
        return value
    }

    /// The value that the object's getter returns. If it is missing, or the type cannot decode it, this is the default or the empty value.
    func value<Value: AttributeValue>(of token: Attribute<Value>) -> Value {
        let value = value(named: token.name)
        if let decoded = Value(propertyValue: value) { return decoded }
        if value.isNull, !(Value.self is any CodedType.Type) { return Value.unsetValue }
        guard let property = entity?.propertiesByName[token.name] else { return Value.unsetValue }
        require(
            value.isNull || property.attribute.map { Value.attributeType == .transformable || Value.attributeType.fits($0.type) } ?? false,
            "“\(objectID.entityName).\(token.name)” is of another type than the token that reads it.")
        return Value(propertyValue: property.defaultValue) ?? Value.unsetValue
    }
}

extension SnapshotNode: Hashable {
    static func == (a: SnapshotNode, b: SnapshotNode) -> Bool {
        a.objectID == b.objectID && a.values == b.values && a.toOne == b.toOne && a.toMany == b.toMany
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(objectID)
        hasher.combine(values)
    }
}

extension SnapshotNode: KeyedValues {
    var evaluatedIdentity: PropertyValue? { .objectID(objectID) }
    var evaluatedKeys: [String]? { values.keys.filter { entity?.propertiesByName[$0]?.isAttribute ?? true }.sorted() }

    func evaluatedValue(forKey key: String) throws -> EvaluatedValue {
        if key == "objectID" || key == "self" { return .value(.objectID(objectID)) }
        if let node = toOne[key] { return .object(node) }
        if let value = values[key] { return .value(value) }
        if let nodes = toMany[key] {
            return .collection(nodes.map { .object($0) }, isOrdered: entity?.propertiesByName[key]?.isOrdered ?? false)
        }
        throw HornbeamError(
            .unknownKey, "The snapshot of \(objectID.entityName) has no “\(key)”: it is not a property, or the snapshot does not follow this relationship.",
            entity: objectID.entityName, key: key)
    }
}

/// The relationships that a snapshot follows.
enum SnapshotExtent {
    /// All relationships, for this number of steps.
    case depth(Int)
    /// The named relationships, each with the relationships to follow from its destination.
    indirect case relationships([String: SnapshotExtent])

    /// The relationships in key paths, including those on the path.
    init(paths: [String]) {
        var rests: [String: [String]] = [:]
        for path in paths {
            let steps = path.split(separator: ".", maxSplits: 1).map(String.init)
            guard let first = steps.first else { continue }
            rests[first, default: []] += steps.dropFirst()
        }
        self = .relationships(rests.mapValues { SnapshotExtent(paths: $0) })
    }

    /// The extent for the destination of a relationship; nil if the relationship is not followed.
    func next(_ name: String) -> SnapshotExtent? {
        switch self {
        case .depth(let depth): depth > 0 ? .depth(depth - 1) : nil
        case .relationships(let extents): extents[name]
        }
    }

    /// Ends the process if a name is not a relationship.
    func requireRelationships(of entity: EntityDescription) {
        guard case .relationships(let extents) = self else { return }
        for name in extents.keys {
            require(
                entity.relationshipsByName[name] != nil, "\(entity.name) has no relationship “\(name)” that a snapshot could include.")
        }
    }
}
