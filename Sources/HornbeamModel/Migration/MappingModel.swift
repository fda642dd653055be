/// A description of the migration of objects from one version of a model to another (MIG-6).
///
/// ```swift
/// let mapping = try MappingModel.inferred(from: old, to: new)
/// print(mapping)
/// ```
/// The store executes it during the migration.
public struct MappingModel: Sendable {
    /// The model of the stored objects.
    public let source: ManagedObjectModel
    /// The model to which the store is migrated.
    public let destination: ManagedObjectModel
    /// One for each entity of the destination, in its order, then one for each removed entity.
    public var entityMappings: [EntityMapping]

    /// A mapping with the given parts. `inferred(from:to:)` infers the parts.
    public init(from source: ManagedObjectModel, to destination: ManagedObjectModel, entityMappings: [EntityMapping]) {
        self.source = source
        self.destination = destination
        self.entityMappings = entityMappings
    }

    /// The mapping inferred from the two models (MIG-2, MIG-4).
    ///
    /// Entities, properties and elements of composites are matched by renaming identifier, then by name (MOD-13).
    /// - Throws: `inferredMappingFailed`; each obstacle is one of its details (MIG-3).
    public static func inferred(from source: ManagedObjectModel, to destination: ManagedObjectModel) throws -> MappingModel {
        try MappingModel(from: source, to: destination, changing: [])
    }

    /// The mapping inferred from the two models, except for the parts that the app declares.
    ///
    /// ```swift
    /// let mapping = try MappingModel(from: old, to: new, changing: [
    ///     EntityMapping(to: "Item", [try PropertyMapping("total", "price * count"), PropertyMapping("pages", from: .converted("pages"))])
    /// ])
    /// ```
    /// - Throws: `invalidMigrationPlan` with every name and expression that does not fit the models; `inferredMappingFailed` with every
    ///   obstacle that remains after the changes.
    public init(from source: ManagedObjectModel, to destination: ManagedObjectModel, changing changes: [EntityMapping]) throws {
        try self.init(source, destination, changes, allowsCode: false)
    }

    /// The mapping of a custom stage. The code of the stage migrates the values that cannot be inferred.
    ///
    /// - Throws: `invalidMigrationPlan` as above; `inferredMappingFailed` only when two parts are renamed from the same part.
    package static func forCustomStage(
        from source: ManagedObjectModel, to destination: ManagedObjectModel, changing changes: [EntityMapping] = []
    ) throws -> MappingModel {
        try MappingModel(source, destination, changes, allowsCode: true)
    }

    private init(
        _ source: ManagedObjectModel, _ destination: ManagedObjectModel, _ changes: [EntityMapping], allowsCode: Bool
    ) throws {
        try MappingCheck(source, destination, allowsCode: allowsCode).check(changes)
        var inference = MappingInference(source, destination, changes)
        var mappings = inference.run()
        let obstacles = inference.findings.filter { !allowsCode || $0.kind == .ambiguous }.map(\.error)
        guard obstacles.isEmpty else {
            throw HornbeamError(
                .inferredMappingFailed,
                "The migration cannot be inferred: \(obstacles.count == 1 ? "there is one obstacle" : "there are \(obstacles.count) obstacles"), "
                    + "which \(obstacles.count == 1 ? "is" : "are") among the details. Change the new model, migrate in two steps, or write "
                    + "a migration plan.",
                details: obstacles)
        }
        inference.markForCode(&mappings)
        self.init(from: source, to: destination, entityMappings: mappings)
    }

    /// The mapping between two models whose stored parts are equal by name. Ignores renaming identifiers.
    package static func unchanged(from source: ManagedObjectModel, to destination: ManagedObjectModel) -> MappingModel {
        func same(_ properties: [PropertyDescription]) -> [PropertyMapping] {
            properties.filter { !$0.isTransient }.map { PropertyMapping($0.name, from: .property($0.name)) }
        }
        return MappingModel(
            from: source, to: destination,
            entityMappings: destination.entities.map { entity in
                EntityMapping(
                    .copy, from: source.entitiesByName[entity.name], to: entity, attributeMappings: same(entity.properties.filter(\.isAttribute)),
                    relationshipMappings: same(entity.properties.filter(\.isRelationship)))
            })
    }

    /// True when an entity of the source has a successor.
    package var keepsEntities: Bool { entityMappings.contains { $0.sourceEntityName != nil && $0.destinationEntityName != nil } }

    /// True when policies read old objects and write new ones one by one.
    package var migratesObjectByObject: Bool { entityMappings.contains(where: \.migratesObjectByObject) }

    /// The mapping to an entity of the destination. If there are several, the mapping whose objects keep their IDs.
    public func mapping(toEntityNamed name: String) -> EntityMapping? {
        entityMappings.first { $0.destinationEntityName == name }
    }

    /// True when no stored object changes.
    public var isIdentity: Bool { entityMappings.allSatisfy { $0.kind == .copy } }
}

extension MappingModel: CustomStringConvertible {
    /// The entities that change, one paragraph each.
    public var description: String {
        let changed = entityMappings.filter { $0.kind != .copy }
        return changed.isEmpty ? "No stored object changes." : changed.map(\.description).joined(separator: "\n")
    }
}
