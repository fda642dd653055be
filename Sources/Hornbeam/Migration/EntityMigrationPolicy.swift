public import HornbeamModel
internal import HornbeamStore

/// Creates and fills the objects of one custom entity mapping, in three passes (MIG-8).
///
/// In the first pass, each policy creates objects; in the second, it sets relationships; in the third, it validates. So all objects exist in
/// the second pass. Each migration creates a new instance of the policy. The default implementations execute the mapping.
open class EntityMigrationPolicy {
    /// Called by the migration, once for each mapping that names the class.
    public required init() {}

    /// Called before the first object.
    open func begin(_ mapping: EntityMapping, _ migration: CustomMigration) throws {}

    /// Creates the new objects of an old object, and associates them with it.
    ///
    /// The default inserts an object and sets the attributes of the mapping. If the mapping keeps the old objects, it does nothing.
    open func createDestinationInstances(
        for source: ManagedObject, in mapping: EntityMapping, _ migration: CustomMigration
    ) throws {
        try migration.makeInstance(for: source, by: mapping)
    }

    /// Called when all objects of the mapping exist.
    open func endInstanceCreation(_ mapping: EntityMapping, _ migration: CustomMigration) throws {}

    /// Sets the relationships of a new object. The objects of all mappings exist. The default executes the mapping.
    open func createRelationships(
        from source: ManagedObject, to destination: ManagedObject, in mapping: EntityMapping, _ migration: CustomMigration
    ) throws {
        try migration.setRelationships(of: destination, from: source, by: mapping)
    }

    /// Called when all relationships of the mapping are set.
    open func endRelationshipCreation(_ mapping: EntityMapping, _ migration: CustomMigration) throws {}

    /// Called when all objects are saved. Throws, or reports problems, to make the migration fail.
    open func performCustomValidation(_ mapping: EntityMapping, _ migration: CustomMigration) throws {}

    /// Called at the end.
    open func end(_ mapping: EntityMapping, _ migration: CustomMigration) throws {}
}

/// The passes over the mappings that need objects, each with its policy.
struct PolicyPasses {
    private let migration: CustomMigration
    private let work: [(mapping: EntityMapping, policy: EntityMigrationPolicy)]

    init(_ migration: CustomMigration, _ policies: [String: EntityMigrationPolicy.Type]) {
        self.migration = migration
        work = migration.mapping.entityMappings.filter(\.migratesObjectByObject).map { ($0, (policies[$0.name] ?? EntityMigrationPolicy.self).init()) }
    }

    func run() throws {
        guard !work.isEmpty else { return }
        // Objects are complete only after all passes.
        migration.destination.role.skipsValidation = true
        try forEachPolicy { mapping, policy in
            try policy.begin(mapping, migration)
            try forEachSource(of: mapping) { source, isSelected in
                if isSelected { try policy.createDestinationInstances(for: source, in: mapping, migration) }
            }
            try policy.endInstanceCreation(mapping, migration)
        }
        try forEachPolicy { mapping, policy in
            try forEachSource(of: mapping) { source, isSelected in
                guard isSelected else { return }
                for object in try migration.destinationObjects(for: source, by: mapping.name) {
                    try policy.createRelationships(from: source, to: object, in: mapping, migration)
                }
            }
            try policy.endRelationshipCreation(mapping, migration)
        }
        migration.destination.role.skipsValidation = false
        try forEachPolicy { mapping, policy in
            try removeUnselectedObjects(by: mapping)
            try migration.validate(mapping)
            try policy.performCustomValidation(mapping, migration)
            try policy.end(mapping, migration)
        }
        try migration.throwProblems()
    }

    private func forEachPolicy(_ body: (EntityMapping, EntityMigrationPolicy) throws -> Void) throws {
        for (mapping, policy) in work {
            do {
                try body(mapping, policy)
                try migration.save()
            } catch let error as HornbeamError where error.isOfStore {
                throw error
            } catch {
                let found = error as? HornbeamError
                throw HornbeamError(
                    .entityMigrationPolicy,
                    "The mapping “\(mapping.name)” failed\(found.map { ": \($0.message)" } ?? ", since its policy threw an error.") "
                        + "The store stays at \(migration.mapping.source.versionName).",
                    entity: mapping.destinationEntityName, key: found?.key, objectIDs: found?.objectIDs ?? [],
                    details: found?.details ?? [], cause: found == nil ? "\(error)" : nil, underlyingError: error)
            }
        }
    }

    private func forEachSource(of mapping: EntityMapping, _ body: (ManagedObject, _ isSelected: Bool) throws -> Void) throws {
        var request = FetchRequest<ManagedObject>(entityName: mapping.sourceEntityName ?? "")
        request.includesSubentities = false
        try migration.forEach(request) { source in
            try body(source, try mapping.sourcePredicate?.evaluate(with: source) ?? true)
        }
    }

    /// Deletes the successors of old objects that the mapping's predicate does not select.
    private func removeUnselectedObjects(by mapping: EntityMapping) throws {
        guard mapping.sourcePredicate != nil, migration.keepsObjects(mapping) else { return }
        try forEachSource(of: mapping) { source, isSelected in
            if !isSelected, let object = try migration.successor(of: source) { migration.destination.delete(object) }
        }
    }
}

extension HornbeamError {
    /// True for errors of the store and of the migration as a whole, which do not name a mapping.
    fileprivate var isOfStore: Bool {
        [.full, .inputOutput, .damaged, .durabilityLost, .migrationCancelled, .migrationConstraintViolation].contains(code)
    }
}
