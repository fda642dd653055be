/// Checks a mapping that an app has written as a whole, without inference.
extension MappingModel {
    /// The mapping as the store executes it: derived attributes that it leaves out, or whose derivation changes, are computed.
    ///
    /// - Throws: `invalidMigrationPlan`, with every obstacle as a detail: entities without a mapping, two mappings that keep the same objects,
    ///   and all obstacles to a mapping with the same sources that is inferred.
    package func checked() throws -> MappingModel {
        var check = MappingCheck(source, destination)
        let kept = check.checkEntities(entityMappings)
        check.addObstacles(to: kept)
        check.checkInverses(kept)
        check.checkUnnamedInverses(kept)
        try check.throwProblems()
        var result = self
        for index in result.entityMappings.indices where kept.contains(where: { $0.name == result.entityMappings[index].name }) {
            result.entityMappings[index].addDerivations(source, destination)
        }
        return result
    }
}

extension MappingCheck {
    /// Checks which entities the mappings name. Returns the mappings whose objects keep their IDs.
    fileprivate mutating func checkEntities(_ mappings: [EntityMapping]) -> [EntityMapping] {
        var kept: [EntityMapping] = []
        var keepers: [String: String] = [:]
        var destinations: Set<String> = []
        for mapping in mappings {
            guard checkNames(mapping) else { continue }
            let isFirst = mapping.destinationEntityName.map { destinations.insert($0).inserted } ?? true
            guard let name = mapping.sourceEntityName, let old = source.entitiesByName[name],
                let entity = mapping.destinationEntityName.flatMap({ destination.entitiesByName[$0] })
            else { continue }
            checkProperties(of: mapping, entity, old, namesDerived: true)
            if !isFirst {
                if mapping.kind != .custom { problem("another mapping to “\(entity.name)” precedes it; make this one custom", mapping, nil) }
                continue
            }
            if let other = keepers.updateValue(mapping.name, forKey: name) {
                problem(
                    "it keeps the objects of “\(name)”, and so does \(other); put a mapping of kind add to “\(entity.name)” before it, "
                        + "and make it custom",
                    mapping, nil)
            }
            kept.append(mapping)
        }
        for entity in source.entities where !entity.isAbstract && !mappings.contains(where: { $0.sourceEntityName == entity.name }) {
            problems.append(
                HornbeamError(
                    .invalidMigrationPlan, "“\(entity.name)” has no mapping. Add one; one of kind remove deletes its objects.", entity: entity.name))
        }
        return kept
    }

    /// False when the models lack an entity of the mapping, or its kind does not fit.
    private mutating func checkNames(_ mapping: EntityMapping) -> Bool {
        let count = problems.count
        if let name = mapping.destinationEntityName, destination.entitiesByName[name] == nil {
            problem("the new model has no entity “\(name)”\(suggestion(for: name, among: destination.entities.map(\.name)))", mapping, nil)
        }
        if let name = mapping.sourceEntityName, source.entitiesByName[name] == nil {
            problem("the old model has no entity “\(name)”\(suggestion(for: name, among: source.entities.map(\.name)))", mapping, nil)
        }
        let (hasSource, hasDestination) = (mapping.sourceEntityName != nil, mapping.destinationEntityName != nil)
        switch mapping.kind {
        case .undefined: problem("choose a kind of mapping", mapping, nil)
        case .add where hasSource || !hasDestination: problem("a mapping of kind add names the new entity alone", mapping, nil)
        case .remove where !hasSource || hasDestination: problem("a mapping of kind remove names the old entity alone", mapping, nil)
        case .copy, .transform, .custom:
            if !hasSource || !hasDestination { problem("a mapping of this kind names the old and the new entity", mapping, nil) }
        case .add, .remove: break
        }
        return problems.count == count
    }

    /// Adds the obstacles that inference finds in properties whose values are copied, and the required attributes without a source.
    fileprivate mutating func addObstacles(to kept: [EntityMapping]) {
        var inference = MappingInference(
            source, destination,
            kept.map { mapping in
                var copy = mapping
                copy.kind = .transform
                return copy
            })
        _ = inference.run()
        for finding in inference.findings where finding.kind != .ambiguous {
            guard let entity = finding.error.entity.flatMap({ destination.entitiesByName[$0] }),
                let name = finding.error.key?.split(separator: ".").first.map(String.init),
                kept.contains(where: { mapping in
                    mapping.mapping(ofPropertyNamed: name)?.sourceName != nil
                        && destination.entitiesByName[mapping.destinationEntityName ?? ""]?.isKind(of: entity) == true
                })
            else { continue }
            problems.append(HornbeamError(.invalidMigrationPlan, finding.error.message, entity: entity.name, key: finding.error.key))
        }
        for mapping in kept where mapping.kind != .custom {
            guard let entity = destination.entitiesByName[mapping.destinationEntityName ?? ""] else { continue }
            for property in entity.properties where property.isAttribute && !property.isTransient && !property.isDerived && !property.isOptional {
                guard mapping.mapping(ofPropertyNamed: property.name) == nil else { continue }
                problem("it is required, and the mapping has no source for it", mapping, property.name)
            }
        }
    }
}

extension EntityMapping {
    /// Completes the mapping of derived attributes. Unchanged ones are copied if the mapping says so.
    fileprivate mutating func addDerivations(_ source: ManagedObjectModel, _ destination: ManagedObjectModel) {
        guard let entity = destination.entitiesByName[destinationEntityName ?? ""], let old = source.entitiesByName[sourceEntityName ?? ""] else { return }
        for property in entity.properties where property.isDerived && !property.isTransient {
            let copied = mapping(ofPropertyNamed: property.name)?.sourceName.flatMap { old.propertiesByName[$0] }
            if copied?.derivation == property.derivation, copied?.attributeType == property.attributeType { continue }
            attributeMappings.removeAll { $0.name == property.name }
            attributeMappings.append(PropertyMapping(property.name, from: .derivation))
        }
    }
}
