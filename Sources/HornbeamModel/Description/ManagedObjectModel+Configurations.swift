public import Foundation

extension ManagedObjectModel {
    /// The names of the configurations, sorted (MDL-2).
    public var configurations: [String] { definition.configurations.keys.sorted() }

    /// The entities of a configuration, in the order of the model; all entities for nil.
    ///
    /// - Throws: `HornbeamError` with code `unknownName`.
    public func entities(forConfigurationName name: String?) throws -> [EntityDescription] {
        guard let name else { return entities }
        guard let members = definition.configurations[name] else {
            if name == "Default" { return entities }
            throw HornbeamError(
                .unknownName,
                "The model has no configuration “\(name)”" + suggestion(for: name, among: configurations) + ".",
                key: name)
        }
        return entities.filter { members.contains($0.name) }
    }

    /// A model with only the entities of a configuration, for a store that contains no other entities (MDL-2).
    ///
    /// The model has all fetched properties of its entities. If one fetches an entity outside the configuration, `externalEntities` lists
    /// that entity. Fetching the property then requires a coordinator with the whole model, and throws `unknownEntity` otherwise.
    ///
    /// - Throws: `HornbeamError` with code `unknownName`; `invalidModel` when one of the entities inherits from, or has a relationship to,
    ///   an entity outside the configuration.
    public func model(forConfigurationName name: String) throws -> ManagedObjectModel {
        var part = definition
        let members = try Set(entities(forConfigurationName: name).map(\.name))
        part.entities.removeAll { !members.contains($0.name) }
        let fetched = part.entities.flatMap { $0.fetchedProperties.map(\.request.entityName) }
        part.externalEntities = Set(fetched).subtracting(members)
        part.fetchRequestTemplates.removeAll { !members.contains($0.entityName) }
        part.configurations = part.configurations.filter { $0.key == name }
        return try ManagedObjectModel(part)
    }
}

extension ModelDefinition {
    /// A definition with all entities, configurations and templates of several definitions (MDL-5).
    ///
    /// Equal entities, composites and templates occur once in the result. A configuration has the members of all configurations with
    /// its name. If several localised texts have the same key, the last one is used.
    ///
    /// - Throws: `HornbeamError` with code `modelsDiffer`, with one detail for each name that has
    ///   two different definitions.
    public init(merging definitions: [ModelDefinition]) throws {
        self.init()
        var problems: [HornbeamError] = []
        for next in definitions {
            problems += merge(next.entities, into: \.entities, named: \.name, kind: "entities")
            problems += merge(next.composites, into: \.composites, named: \.name, kind: "composites")
            problems += merge(
                next.fetchRequestTemplates, into: \.fetchRequestTemplates, named: \.name, kind: "fetch request templates")
            for (name, members) in next.configurations {
                let known = configurations[name, default: []]
                configurations[name] = known + members.filter { !known.contains($0) }
            }
            localizationDictionary.merge(next.localizationDictionary) { $1 }
            versionIdentifiers.formUnion(next.versionIdentifiers)
            externalEntities.formUnion(next.externalEntities)
        }
        externalEntities.subtract(entities.map(\.name))
        guard let first = problems.first else { return }
        throw HornbeamError(
            .modelsDiffer, problems.map(\.message).joined(separator: " "), entity: first.entity, details: problems)
    }

    private mutating func merge<Part: Equatable>(
        _ parts: [Part], into list: WritableKeyPath<ModelDefinition, [Part]>, named name: (Part) -> String, kind: String
    ) -> [HornbeamError] {
        var problems: [HornbeamError] = []
        for part in parts {
            guard let known = self[keyPath: list].first(where: { name($0) == name(part) }) else {
                self[keyPath: list].append(part)
                continue
            }
            if known != part {
                problems.append(HornbeamError(
                    .modelsDiffer,
                    "Models with two different \(kind) named “\(name(part))” cannot be merged: "
                        + "rename one, or leave out the model that is out of date.",
                    entity: name(part)))
            }
        }
        return problems
    }
}

extension ManagedObjectModel {
    /// Merges several models (MDL-5); see `ModelDefinition.init(merging:)`.
    ///
    /// - Throws: `HornbeamError` with code `modelsDiffer` or `invalidModel`.
    public convenience init(merging models: [ManagedObjectModel]) throws {
        try self.init(ModelDefinition(merging: models.map(\.definition)))
    }

    /// A model of the entities with the given version hashes, found in several models; nil when an entity is missing (MDL-5).
    public static func merged(_ models: [ManagedObjectModel], for hashes: [String: Data]) throws -> ManagedObjectModel? {
        var found: [String: Entity] = [:]
        var definition = ModelDefinition()
        for model in models {
            for entity in model.entities where found[entity.name] == nil && hashes[entity.name] == entity.versionHash {
                found[entity.name] = entity.definition
                definition.entities.append(entity.definition)
            }
            for composite in model.definition.composites where !definition.composites.contains(where: { $0.name == composite.name }) {
                definition.composites.append(composite)
            }
        }
        let fetched = definition.entities.flatMap { $0.fetchedProperties.map(\.request.entityName) }
        definition.externalEntities = Set(models.flatMap(\.definition.externalEntities)).intersection(fetched).subtracting(found.keys)
        return found.count == hashes.count ? try ManagedObjectModel(definition) : nil
    }
}
