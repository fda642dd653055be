internal import HornbeamModel
internal import HornbeamStore
internal import HornbeamThreads

/// What all objects of one entity share in all contexts of a coordinator: made once, since a context may live for one save only.
final class EntityShape: Sendable {
    let properties: [PropertyDescription]
    /// How the cells of attributes are read, by property index; nil for properties without a cell.
    let cellForms: [CellForm?]
    /// The values of a new object by property index, and which properties have one.
    let newValues: [PropertyValue]
    let newHeld: PropertySet
    /// The properties that have no place in the store.
    let transient: PropertySet
    /// The attributes that the store computes at each save (ATT-11).
    let derived: [PropertyDescription]
    /// What is right without a closer look, by property index.
    let plainChecks: [PlainCheck]
    /// True when a new object's values are its row: attributes that are stored as they are, and relationships without a cell.
    let isFlat: Bool
    let temporaryOrigin: ManagedObjectID.Origin

    /// A check that counts no reference.
    struct PlainCheck {
        /// Nil where each value is looked at: relationships, and attributes with rules.
        let type: AttributeType?
        let isOptional: Bool

        /// True when nothing is wrong with the value.
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
        isFlat = entity.properties.allSatisfy { property in
            let isPlain = property.isAttribute && property.attributeType != .composite && !property.isDerived
            return !property.isTransient && (isPlain || property.isToMany)
        }
        temporaryOrigin = ManagedObjectID.Origin(entityName: entity.name, storeIdentifier: nil, entityNumber: -1)
    }
}

/// The shapes of a model's entities, each made when it is first needed.
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
    /// How cells of the type are read.
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
