import Hornbeam

/// A stage with code between two random versions, and the same changes of plain objects.
///
/// Before the structure changes, some old objects are deleted. Afterwards attributes of some objects get new values.
struct CodedStage: Sendable {
    /// Determines the objects that change.
    let number: UInt64

    func plan(from before: ManagedObjectModel, to after: ManagedObjectModel) throws -> MigrationPlan {
        try MigrationPlan([
            .custom(
                from: before, to: after, label: "stage \(number)", changing: RandomVersion.declarations(in: after),
                willMigrate: { old in
                    for object in try Self.roots(old).flatMap({ try old.fetch($0) }) where deletes(object.objectID.reference) {
                        old.delete(object)
                    }
                },
                didMigrate: { migration in
                    migration.batchSize = 5
                    for root in try Self.roots(migration.source) {
                        try migration.forEach(root.entityName) { old in
                            guard let new = try migration.successor(of: old), changes(new.objectID.reference) else { return }
                            for attribute in new.entity.attributes where Self.mayWrite(attribute, of: new.entity) {
                                try new.setValue(value(of: attribute, new.objectID.reference), forKey: attribute.name)
                            }
                        }
                    }
                })
        ])
    }

    private static func roots(_ context: ManagedObjectContext) throws -> [FetchRequest<ManagedObject>] {
        context.persistentStoreCoordinator.managedObjectModel.entities.filter { $0.superentity == nil }
            .map { FetchRequest<ManagedObject>(entityName: $0.name) }
    }

    // MARK: The same for plain objects

    func prepare(_ plain: inout PlainObjects) {
        plain.objects = plain.objects.filter { !deletes($0.key) }
        plain.removeMissingLinks()
    }

    func convert(_ plain: inout PlainObjects, _ model: ManagedObjectModel) {
        for key in plain.objects.keys where changes(key) {
            guard let entity = plain.objects[key].flatMap({ model.entitiesByName[$0.entity] }) else { continue }
            for attribute in entity.attributes where Self.mayWrite(attribute, of: entity) {
                plain.objects[key]?.values[attribute.name] = value(of: attribute, key)
            }
        }
    }

    // MARK: The changes

    private func deletes(_ key: UInt64) -> Bool { (key + number) % 11 == 0 }

    private func changes(_ key: UInt64) -> Bool { (key + number) % 3 == 0 }

    private static func mayWrite(_ attribute: PropertyDescription, of entity: EntityDescription) -> Bool {
        !entity.uniquenessConstraints.contains { $0.properties.contains(attribute) }
    }

    private func value(of attribute: PropertyDescription, _ key: UInt64) -> PropertyValue {
        switch attribute.attributeType {
        case .string: .string("stage \(number) of object \(key)")
        case .boolean: .bool(key % 2 == 0)
        case .double: .double(Double(key) + 0.25)
        default: .int(Int64(key % 1_000))
        }
    }
}

/// A version that follows another one, and the code that leads to it; nil for an inferred migration.
struct NextVersion {
    let version: RandomVersion
    let stage: CodedStage?

    /// - Parameter number: The number of the stage with code, or nil for an inferred migration. Versions that only differ in their indexes
    ///   have no stage.
    init(after before: RandomVersion, stage number: UInt64?) throws {
        if let stage = number.map(CodedStage.init) {
            var next = before
            stage.prepare(&next.plain)
            try next.evolve()
            let model = try next.model()
            if try model.versionChecksum != before.model().versionChecksum {
                stage.convert(&next.plain, model)
                (version, self.stage) = (next, stage)
                return
            }
        }
        var next = before
        try next.evolve()
        (version, stage) = (next, nil)
    }

    func plan(from before: RandomVersion) throws -> MigrationPlan? {
        try Self.plan(stage, from: before.model(), to: version.model())
    }

    /// The plan with the stage, or with the mappings that the new version declares; nil if the mapping is inferred.
    static func plan(_ stage: CodedStage?, from before: ManagedObjectModel, to after: ManagedObjectModel) throws -> MigrationPlan? {
        if let stage { return try stage.plan(from: before, to: after) }
        let declarations = RandomVersion.declarations(in: after)
        return declarations.isEmpty ? nil : try MigrationPlan([.lightweight(from: before, to: after, changing: declarations)])
    }
}
