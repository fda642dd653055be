/// How the objects of one version of a model become objects of another (MIG-6).
///
/// ```swift
/// let mapping = try MappingModel.inferred(from: old, to: new)
/// print(mapping)
/// ```
/// A value; the store reads it when it migrates.
public struct MappingModel: Sendable {
    /// The model of the stored objects.
    public let source: ManagedObjectModel
    /// The model that the store is migrated to.
    public let destination: ManagedObjectModel
    /// One for each entity of the destination, in its order, then one for each removed entity.
    public var entityMappings: [EntityMapping]

    /// A mapping with the given parts. `inferred(from:to:)` finds the parts itself.
    public init(from source: ManagedObjectModel, to destination: ManagedObjectModel, entityMappings: [EntityMapping]) {
        self.source = source
        self.destination = destination
        self.entityMappings = entityMappings
    }

    /// The mapping that follows from the two models alone (MIG-2, MIG-4).
    ///
    /// Entities, properties and elements of composites are matched by renaming identifier, then by name (MOD-13).
    /// - Throws: `inferredMappingFailed` with every obstacle among its details (MIG-3).
    public static func inferred(from source: ManagedObjectModel, to destination: ManagedObjectModel) throws -> MappingModel {
        var inference = MappingInference(source, destination)
        let mappings = inference.run()
        guard inference.obstacles.isEmpty else {
            let count = inference.obstacles.count
            throw HornbeamError(
                .inferredMappingFailed,
                "The migration cannot be inferred: \(count == 1 ? "there is one obstacle" : "there are \(count) obstacles"), which "
                    + "\(count == 1 ? "is" : "are") among the details. Change the new model, or go there in two versions.",
                details: inference.obstacles)
        }
        return MappingModel(from: source, to: destination, entityMappings: mappings)
    }

    /// The mapping that leads to an entity of the destination.
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
