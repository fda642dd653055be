internal import HornbeamModel
internal import HornbeamStore
internal import HornbeamThreads

/// The data that all objects of one entity share in all contexts of a coordinator. Shared because a context may exist for one save only.
final class EntityShape: Sendable {
    let properties: [PropertyDescription]
    /// The forms of attributes' cells, by property index; nil for properties without a cell.
    let cellForms: [CellForm?]
    /// The values of a new object by property index; `newHeld` is the set of properties with a value.
    let newValues: [PropertyValue]
    let newHeld: PropertySet
    /// The properties that are not stored.
    let transient: PropertySet
    /// The attributes that the store computes at each save (ATT-11).
    let derived: [PropertyDescription]
    /// The simple checks of values, by property index. A value that passes needs no further validation.
    let plainChecks: [PlainCheck]
    /// The properties whose value in the row of a new object differs from that of the object: to-one relationships and composites, which the save
    /// converts, and those that it does not write.
    let convertedBySaves: [PropertyDescription]
    let temporaryOrigin: ManagedObjectID.StoreIdentity

    /// A check without reference counting.
    struct PlainCheck {
        /// Nil if each value needs full validation: relationships, and attributes with rules.
        let type: AttributeType?
        let isOptional: Bool

        /// True if the value is valid; false also if the value needs full validation.
        func passes(_ value: PropertyValue) -> Bool {
            guard let type else { return false }
            return value.isNull ? isOptional : type.holds(value)
        }
    }

    init(_ entity: EntityDescription) {
        properties = entity.properties
        cellForms = entity.properties.map { $0.isTransient ? nil : $0.attributeType.cellForm }
        newValues = entity.properties.map(\.defaultValue)
        newHeld = entity.properties.reduce(into: PropertySet()) { if !$1.isToMany { $0.insert($1.index) } }
        transient = entity.properties.reduce(into: PropertySet()) { if $1.isTransient { $0.insert($1.index) } }
        derived = entity.properties.filter(\.isDerived)
        plainChecks = entity.properties.map { property in
            PlainCheck(
                type: property.limitsValues ? nil : property.attributeType, isOptional: property.isOptional)
        }
        convertedBySaves = entity.properties.filter { property in
            property.isTransient || property.isDerived || property.isToOne || property.attributeType == .composite
        }
        temporaryOrigin = ManagedObjectID.StoreIdentity(entityName: entity.name, storeIdentifier: nil, entityNumber: -1)
    }
}

/// The shapes of a model's entities, each created at its first use.
final class EntityShapes: Sendable {
    private let shapes = Guarded<[EntityShape?]>([])

    subscript(entity: EntityDescription) -> EntityShape {
        shapes.withLock { shapes in
            if entity.index < shapes.count, let shape = shapes[entity.index] { return shape }
            while shapes.count <= entity.index { shapes.append(nil) }
            let shape = EntityShape(entity)
            shapes[entity.index] = shape
            return shape
        }
    }
}

extension AttributeType {
    /// The form of the type's cells.
    fileprivate var cellForm: CellForm? {
        switch self {
        case .integer16, .integer32, .integer64, .boolean: .integer
        case .double, .float, .date: .double
        case .string, .uri: .string
        case .decimal, .binary, .uuid, .transformable, .objectID: .other
        case .undefined, .composite: nil
        }
    }
}
