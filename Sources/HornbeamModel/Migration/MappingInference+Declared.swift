/// The part of a mapping that the app declares, and the part that its code executes.
extension MappingInference {
    /// The source that the app declares for a property. The mapping of the entity takes precedence over the mapping of a superentity.
    func declaredSource(of property: PropertyDescription, in entity: EntityDescription) -> PropertyMapping.Source? {
        var current: EntityDescription? = entity
        while let candidate = current {
            for mapping in declared where mapping.destinationEntityName == candidate.name && keepsObjects(mapping) {
                if let found = mapping.mapping(ofPropertyNamed: property.name) { return found.source }
            }
            current = candidate.superentity
        }
        return nil
    }

    /// True if the app declares a relationship as empty in all objects that survive.
    func isDeclaredEmpty(_ relationship: PropertyDescription) -> Bool {
        let entities = relationship.entity.concreteDescendants.filter { predecessors[$0.name] != nil }
        return !entities.isEmpty && entities.allSatisfy { declaredSource(of: relationship, in: $0) == .empty }
    }

    /// True for the mapping of an entity to its successor; false for a mapping that creates new objects.
    func keepsObjects(_ mapping: EntityMapping) -> Bool {
        guard let name = mapping.destinationEntityName else { return true }
        return mapping.sourceEntityName == nil || predecessors[name]?.name == mapping.sourceEntityName
    }

    /// A mapping for objects that a policy creates. Properties without a mapping have their default values.
    func mappingOfNewObjects(_ declaration: EntityMapping) -> EntityMapping? {
        guard let entity = declaration.destinationEntityName.flatMap({ destination.entitiesByName[$0] }),
            let old = declaration.sourceEntityName.flatMap({ source.entitiesByName[$0] })
        else { return nil }
        var mapping = EntityMapping(.custom, from: old, to: entity, userInfo: declaration.userInfo)
        mapping.name = declaration.name
        mapping.sourcePredicate = declaration.sourcePredicate
        for property in entity.properties where !property.isTransient && !property.isDerived {
            guard let found = declaration.mapping(ofPropertyNamed: property.name) else { continue }
            if property.isAttribute { mapping.attributeMappings.append(found) } else { mapping.relationshipMappings.append(found) }
        }
        return mapping
    }

    // MARK: Properties that code sets

    /// Marks the properties whose values cannot be copied, and their inverses, as properties that code sets.
    func markForCode(_ mappings: inout [EntityMapping]) {
        for finding in findings where finding.kind == .needsCode {
            guard let name = finding.error.entity, let entity = destination.entitiesByName[name],
                let key = finding.error.key?.split(separator: ".").first, let property = entity.propertiesByName[String(key)]
            else { continue }
            mark(property, in: &mappings)
        }
        for mapping in mappings where mapping.kind != .add {
            guard let entity = mapping.destinationEntityName.flatMap({ destination.entitiesByName[$0] }) else { continue }
            for relationship in mapping.relationshipMappings {
                switch relationship.source {
                case .expression, .code:
                    if let inverse = entity.propertiesByName[relationship.name]?.inverse { mark(inverse, in: &mappings) }
                default: break
                }
            }
        }
    }

    private func mark(_ property: PropertyDescription, in mappings: inout [EntityMapping]) {
        for member in [property, property.inverse].compactMap(\.self) {
            let concerned = Set(member.entity.withSubentities.map(\.name))
            for index in mappings.indices where concerned.contains(mappings[index].destinationEntityName ?? "") {
                mappings[index].markForCode(member.name)
            }
        }
    }
}

extension EntityMapping {
    fileprivate mutating func markForCode(_ name: String) {
        func changed(_ mapping: PropertyMapping) -> PropertyMapping {
            switch mapping.source {
            case .property where mapping.name == name, .inverse where mapping.name == name: PropertyMapping(name, from: .code)
            default: mapping
            }
        }
        attributeMappings = attributeMappings.map(changed)
        relationshipMappings = relationshipMappings.map(changed)
        if kind == .copy { kind = .transform }
    }
}

extension EntityDescription {
    fileprivate var withSubentities: [EntityDescription] { [self] + subentities.flatMap(\.withSubentities) }
}
