internal import HornbeamModel

/// Executes a mapping for one object.
extension CustomMigration {
    /// True if the mapping maps an entity to its successor, so its objects survive.
    func keepsObjects(_ mapping: EntityMapping) -> Bool {
        self.mapping.mapping(toEntityNamed: mapping.destinationEntityName ?? "") == mapping && mapping.kind != .add
    }

    func makeInstance(for source: ManagedObject, by mapping: EntityMapping) throws {
        // The attributes of surviving objects were set when their rows were migrated.
        if keepsObjects(mapping) { return }
        let object = try destination.insert(entityNamed: mapping.destinationEntityName ?? "")
        for property in mapping.attributeMappings {
            guard let value = try value(of: property, object, source), !value.isNull else { continue }
            try object.setValue(value, forKey: property.name)
        }
        associate(source, with: object, by: mapping.name)
    }

    /// The value of an attribute of a new object; nil if the default applies.
    private func value(of mapping: PropertyMapping, _ object: ManagedObject, _ source: ManagedObject) throws -> PropertyValue? {
        let type = try object.entity.property(named: mapping.name).attributeType
        let value: PropertyValue
        switch mapping.source {
        case .property(let name), .converted(let name): value = try source.value(forKey: name)
        case .expression(let expression):
            guard let found = try expression.replacingSourceVariable.value(with: source).propertyValue else {
                try reportProblem("The expression for “\(mapping.name)” does not return a value that an attribute can have.", for: source, mapping.name)
                return nil
            }
            value = found
        default: return nil
        }
        if let converted = value.converted(to: type) { return converted }
        try reportProblem("The value for “\(mapping.name)” cannot be converted to \(type).", for: source, mapping.name, value: value)
        return nil
    }

    func setRelationships(of object: ManagedObject, from source: ManagedObject, by mapping: EntityMapping) throws {
        for relationship in mapping.relationshipMappings {
            let found: EvaluatedValue
            switch relationship.source {
            case .expression(let expression): found = try expression.replacingSourceVariable.value(with: source)
            case .property(let name) where !keepsObjects(mapping): found = try source.evaluatedValue(forKey: name)
            default: continue
            }
            try setRelationship(relationship.name, of: object, to: found, source)
        }
    }

    private func setRelationship(_ name: String, of object: ManagedObject, to found: EvaluatedValue, _ source: ManagedObject) throws {
        var members: [ManagedObjectID] = []
        for id in found.objectIDs {
            for member in try destinationObjects(for: self.source.existingObject(with: id)) { members.append(member.objectID) }
        }
        if try object.entity.property(named: name).isToMany { return try object.setValue(.array(members.map { .objectID($0) }), forKey: name) }
        if members.count > 1 {
            return try reportProblem("“\(name)” is a relationship to one object, and the mapping found \(members.count).", for: source, name)
        }
        try object.setValue(members.first.map { .objectID($0) } ?? .null, forKey: name)
    }

    /// Validates the new objects of a mapping by the rules of the model, because the earlier saves skipped validation.
    func validate(_ mapping: EntityMapping) throws {
        var request = FetchRequest<ManagedObject>(entityName: mapping.sourceEntityName ?? "")
        request.includesSubentities = false
        try forEach(request) { source in
            for object in try destinationObjects(for: source, by: mapping.name) where !object.isDeleted {
                do { try object.validateForUpdate() } catch let error as HornbeamError {
                    for detail in error.code == .multipleErrors ? error.details : [error] {
                        try reportProblem(detail.message, for: object, detail.key, value: detail.value)
                    }
                }
            }
        }
    }
}

extension EvaluatedValue {
    /// The object IDs in the value.
    fileprivate var objectIDs: [ManagedObjectID] {
        switch self {
        case .value(.objectID(let id)): [id]
        case .value: []
        case .object(let object): if case .objectID(let id)? = object.evaluatedIdentity { [id] } else { [] }
        case .collection(let members, _): members.flatMap(\.objectIDs)
        }
    }
}
