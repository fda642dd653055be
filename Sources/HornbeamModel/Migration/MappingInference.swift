/// Infers a mapping between two models, and collects all obstacles.
///
/// Each entity is matched with its inherited properties, so that a property may move within the hierarchy.
struct MappingInference {
    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    /// The mappings that the app declares.
    let declared: [EntityMapping]
    private(set) var findings: [Finding] = []
    /// The source entities, by the name of the destination entity that succeeds each.
    private(set) var predecessors: [String: EntityDescription] = [:]
    /// The destination entities, by the name of the source entity that precedes each.
    private(set) var successors: [String: EntityDescription] = [:]
    /// The source properties, by the names of the destination entity and of its property. Inherited properties occur in each entity.
    private(set) var sources: [String: [String: PropertyDescription]] = [:]
    /// The names of source properties whose values are converted and not copied, by destination entity.
    private var used: [String: Set<String>] = [:]

    /// A reason why a mapping cannot be inferred.
    struct Finding: Equatable {
        enum Kind {
            /// Two parts are renamed from the same part.
            case ambiguous
            /// A property becomes required, and objects may lack its value.
            case missingValue
            /// The values cannot be copied unchanged.
            case needsCode
        }

        var kind: Kind
        var error: HornbeamError
    }

    init(_ source: ManagedObjectModel, _ destination: ManagedObjectModel, _ declared: [EntityMapping] = []) {
        self.source = source
        self.destination = destination
        self.declared = declared
    }

    mutating func run() -> [EntityMapping] {
        matchEntities()
        for entity in destination.entities { matchProperties(of: entity) }
        emptyInverses()
        var mappings = destination.entities.map { mapping(to: $0) }
        for entity in source.entities where successors[entity.name] == nil {
            mappings.append(EntityMapping(.remove, from: entity, to: nil))
        }
        return mappings + declared.filter { !keepsObjects($0) }.compactMap(mappingOfNewObjects)
    }

    // MARK: Pairs

    private mutating func matchEntities() {
        let match = RenameMatch(old: source.entities.map(\.renamePart), new: destination.entities.map(\.renamePart))
        for (entity, old) in zip(destination.entities, match.matches) {
            guard let old else { continue }
            predecessors[entity.name] = source.entities[old]
            successors[source.entities[old].name] = entity
        }
        matchDeclaredEntities()
        for duplicate in match.duplicates {
            let entity = destination.entities[duplicate.new]
            if declared.contains(where: { $0.destinationEntityName == entity.name }) { continue }
            obstacle(
                "“\(entity.name)” is renamed from “\(source.entities[duplicate.old].name)”, and so is another entity. One entity "
                    + "has one successor; splitting it requires code.", entity.name, nil, .ambiguous)
        }
    }

    /// Uses the pairs of entities that the app declares.
    private mutating func matchDeclaredEntities() {
        for mapping in declared where mapping.kind != .custom {
            guard let name = mapping.sourceEntityName, let entity = mapping.destinationEntityName.flatMap({ destination.entitiesByName[$0] })
            else { continue }
            if let other = successors[name] { predecessors[other.name] = nil }
            if let other = predecessors[entity.name] { successors[other.name] = nil }
            predecessors[entity.name] = source.entitiesByName[name]
            successors[name] = entity
        }
    }

    private mutating func matchProperties(of entity: EntityDescription) {
        guard let old = predecessors[entity.name] else { return }
        let before = old.properties.filter { !$0.isTransient }
        let after = entity.properties.filter { !$0.isTransient }
        let match = RenameMatch(old: before.map(\.renamePart), new: after.map(\.renamePart))
        for (property, index) in zip(after, match.matches) {
            if let index { sources[entity.name, default: [:]][property.name] = before[index] }
            switch declaredSource(of: property, in: entity) {
            case nil: break
            case .property(let name): sources[entity.name, default: [:]][property.name] = old.propertiesByName[name]
            case .converted(let name):
                sources[entity.name]?[property.name] = nil
                used[entity.name, default: []].insert(name)
            default: sources[entity.name]?[property.name] = nil
            }
        }
        for duplicate in match.duplicates where after[duplicate.new].entity === entity {
            let property = after[duplicate.new]
            if declaredSource(of: property, in: entity) != nil { continue }
            obstacle(
                "“\(property.name)” is renamed from “\(before[duplicate.old].name)”, and so is another property. Only one of them can be.",
                entity.name, property.name, .ambiguous)
        }
    }

    /// Empties relationships without a declared source whose inverses the app declares as empty.
    private mutating func emptyInverses() {
        for entity in destination.entities {
            for property in entity.relationships where sources[entity.name]?[property.name] != nil {
                guard let inverse = property.inverse, declaredSource(of: property, in: entity) == nil, isDeclaredEmpty(inverse) else { continue }
                sources[entity.name]?[property.name] = nil
            }
        }
    }

    // MARK: Mappings

    private mutating func mapping(to entity: EntityDescription) -> EntityMapping {
        guard let old = predecessors[entity.name] else {
            return EntityMapping(.add, from: nil, to: entity)
        }
        let stored = entity.properties.filter { !$0.isTransient }
        var attributes: [PropertyMapping] = []
        var relationships: [PropertyMapping] = []
        for property in stored {
            let mapping = PropertyMapping(property.name, from: propertySource(of: property, in: entity))
            if property.isAttribute { attributes.append(mapping) } else { relationships.append(mapping) }
        }
        let used = Set(sources[entity.name, default: [:]].values.map(\.name)).union(self.used[entity.name] ?? [])
        let removed = old.properties.filter { !$0.isTransient && !used.contains($0.name) }.map(\.name)
        var mapping = EntityMapping(
            .transform, from: old, to: entity, attributeMappings: attributes, relationshipMappings: relationships,
            removedProperties: removed)
        if mapping.changes.isEmpty, removed.isEmpty, old.versionHash == entity.versionHash { mapping.kind = .copy }
        if let declaration = declared.first(where: { $0.destinationEntityName == entity.name && keepsObjects($0) }) {
            mapping.name = "\(old.name)->\(entity.name)"
            mapping.sourcePredicate = declaration.sourcePredicate
            mapping.userInfo = declaration.userInfo
            if declaration.kind == .custom || mapping.kind == .copy { mapping.kind = declaration.kind }
        }
        return mapping
    }

    private mutating func propertySource(of property: PropertyDescription, in entity: EntityDescription) -> PropertyMapping.Source {
        if let source = declaredSource(of: property, in: entity) {
            guard case .property = source else { return source }
        }
        let old = sources[entity.name]?[property.name]
        if property.isAttribute { return attributeSource(property, old, entity) }
        return relationshipSource(property, old, entity)
    }

    // MARK: For the extensions

    /// The source properties of a property, in all concrete entities that have it.
    func allSources(of property: PropertyDescription) -> Set<PropertyDescription> {
        Set(property.entity.concreteDescendants.compactMap { sources[$0.name]?[property.name] })
    }

    func successor(of entity: EntityDescription) -> EntityDescription? { successors[entity.name] }

    /// Records an obstacle, only once for a property that several entities inherit.
    mutating func obstacle(_ text: String, _ entity: String, _ key: String?, _ kind: Finding.Kind = .needsCode) {
        let subject = key.map { "\(entity).\($0)" } ?? entity
        let error = HornbeamError(.inferredMappingFailed, "\(subject): \(text)", entity: entity, key: key)
        if !findings.contains(where: { $0.error == error }) { findings.append(Finding(kind: kind, error: error)) }
    }
}
