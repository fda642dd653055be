import Foundation
import Hornbeam
import HornbeamStore
import Synchronization
import Testing

/// Errors of migrations: the objects and the version that they name, and the files that they leave.
@Suite struct FailedMigrationTests {
    private static func author(_ entity: String, _ change: (inout Entity) -> Void = { _ in }) throws -> ManagedObjectModel {
        var definition = Entity(entity, attributes: [AttributeDescription("name", .string, optional: true)])
        if entity == "Writer" { definition.renamingIdentifier = "Author" }
        change(&definition)
        return try ManagedObjectModel(entities: [definition])
    }

    private static func filled(_ names: [String] = ["Ada", "Bob"]) throws -> MigratedStore {
        let store = try MigratedStore()
        try store.with(author("Author")) { (context) throws in
            for name in names { try context.insert("Author", ["name": .string(name)]) }
        }
        return store
    }

    /// The names of the objects of an error, read with the old model.
    private static func names(_ error: HornbeamError, _ store: MigratedStore) throws -> [PropertyValue] {
        try store.with(author("Author")) { (context) throws in
            try error.details.flatMap(\.objectIDs).map { id in
                let known = try #require(
                    context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: id.uriRepresentation()), "\(id) is no ID of the old version")
                return try context.existingObject(with: known).value(forKey: "name")
            }.sorted { "\($0)" < "\($1)" }
        }
    }

    // MARK: IDs

    @Test("MIG-11: a required value that the code of a stage does not set is reported with the IDs of the old version", arguments: [false, true])
    func missingValuesNameOldObjects(checksValues: Bool) throws {
        let store = try Self.filled()
        let second = try Self.author("Writer") { entity in
            if checksValues {
                entity.attributes[0].maximumLength = 1
            } else {
                entity.attributes.append(AttributeDescription("code", .string))
            }
        }
        let plan = try MigrationPlan([.custom(from: Self.author("Author"), to: second) { _ in }])
        let error = try #require(hornbeamError { _ = try store.open(plan) { $0.validatesMigratedObjects = true } })
        #expect(error.code == .migrationConstraintViolation)
        #expect(try Self.names(error, store) == ["Ada", "Bob"])
    }

    @Test("MIG-11: objects that a stage cannot save are reported with the IDs of the old version; new ones with their own")
    func unsavedObjectsNameOldObjects() throws {
        let store = try Self.filled()
        let second = try Self.author("Writer") { $0.uniquenessConstraints = [["name"]] }
        let plan = try MigrationPlan([
            .custom(from: Self.author("Author"), to: second) { migration in
                try migration.forEach("Author") { (_: ManagedObject, new: ManagedObject) in try new.setValue("same", forKey: "name") }
            }
        ])
        let error = try #require(hornbeamError { _ = try store.open(plan) })
        #expect(error.code == .migrationConstraintViolation)
        #expect(try Set(Self.names(error, store)).isSubset(of: ["Ada", "Bob"]))
        let inserting = try MigrationPlan([
            .custom(from: Self.author("Author"), to: Self.author("Writer") { $0.attributes.append(AttributeDescription("code", .string)) }) { migration in
                try migration.forEach("Author") { (_: ManagedObject, new: ManagedObject) in try new.setValue("x", forKey: "code") }
                try migration.destination.insert("Writer", ["name": "new"])
            }
        ])
        let missing = try #require(hornbeamError { _ = try store.open(inserting) })
        #expect(missing.details.flatMap(\.objectIDs).map(\.entityName) == ["Writer"])
    }

    // MARK: Chains

    private static func chain() throws -> [ManagedObjectModel] {
        try (1 ... 3).map { number in
            var definition = try author("Author").definition
            definition.versionIdentifiers = ["\(number)"]
            definition.entities[0].attributes += (1 ..< number).map { AttributeDescription("added\($0)", .integer16, default: 1) }
            return try ManagedObjectModel(definition)
        }
    }

    @Test("MIG-9, MIG-14: a chain that is cancelled after its first step names the version at which the store stays")
    func cancelledChainNamesItsVersion() throws {
        let versions = try Self.chain()
        let store = try MigratedStore()
        try store.with(versions[0]) { (context) throws in try context.insert("Author", ["name": "Ada"]) }
        var options = Store.Options()
        var migration = MigrationOptions()
        migration.take(try VersionedModel(versions))
        let switches = Atomic(0)
        migration.progress = { step in
            guard step.part == "switching", switches.wrappingAdd(1, ordering: .relaxed).newValue == 2 else { return }
            throw HornbeamError(.migrationCancelled, "The migration was cancelled.")
        }
        options.migration = migration
        let error = try #require(hornbeamError { _ = try Store.open(.directory(store.url.path), model: versions[2], options: options) })
        #expect(error.code == .migrationCancelled)
        #expect(error.message.hasSuffix("was cancelled. The store stays at version “2”."), "\(error.message)")
        try store.with(versions[1]) { (context) throws in #expect(try context.values("Author", "added1") == [1]) }
    }

    @Test("MIG-8, MIG-9, MIG-11: errors of a later stage do not claim that the store is unchanged", arguments: ["throws", "problems", "policy"])
    func failedStagesNameTheirVersion(kind: String) throws {
        struct Refused: Error {}
        let versions = try Self.chain()
        let store = try MigratedStore()
        try store.with(versions[0]) { (context) throws in try context.insert("Author", ["name": "Ada"]) }
        let last: MigrationStage =
            if kind == "policy" {
                .mapping(
                    try MappingModel(from: versions[1], to: versions[2], changing: [EntityMapping(to: "Author", kind: .custom)]),
                    policies: ["Author->Author": RefusingPolicy.self])
            } else {
                .custom(from: versions[1], to: versions[2]) { migration in
                    if kind == "throws" { throw Refused() }
                    try migration.forEach("Author") { old in try migration.reportProblem("is wrong", for: old) }
                }
            }
        let plan = try MigrationPlan([.lightweight(from: versions[0], to: versions[1]), last])
        let error = try #require(hornbeamError { _ = try store.open(plan) })
        #expect(!error.message.contains("The store is unchanged"), "\(error.message)")
        #expect(error.message.contains("The store stays at version “2”"), "\(error.message)")
        try store.with(versions[1]) { (context) throws in #expect(try context.values("Author", "added1") == [1]) }
    }

    private final class RefusingPolicy: EntityMigrationPolicy {
        struct Reason: Error {}
        override func performCustomValidation(_ mapping: EntityMapping, _ migration: CustomMigration) throws { throw Reason() }
    }

    // MARK: Derived attributes

    private static func slugs(_ derivation: String) throws -> ManagedObjectModel {
        try author("Writer") { entity in
            entity.attributes.append(AttributeDescription("slug", .string, optional: true, derivation: derivation))
            entity.uniquenessConstraints = [["slug"]]
        }
    }

    @Test("ATT-11, MOD-8: objects that would share a derived unique value are all named, and nothing changes", arguments: [false, true])
    func derivedDuplicatesAreNamed(throughCode: Bool) throws {
        let store = try Self.filled(["A", "a", "b", "C", "c", "c"])
        let second = try Self.slugs("lowercase:(name)")
        let error = try #require(
            hornbeamError {
                _ = try throughCode
                    ? store.open(MigrationPlan([.custom(from: Self.author("Author"), to: second) { _ in }])) : store.open(second)
            })
        #expect(error.code == .migrationConstraintViolation)
        #expect(error.details.map(\.key) == ["slug", "slug"])
        #expect(try Self.names(error, store) == ["A", "C", "a", "c", "c"])
    }

    @Test("ATT-11, MOD-8: a derivation that changes gives each object another unique value, also one that another object had")
    func derivedValuesAreExchanged() throws {
        func model(_ derivation: String, _ hash: String) throws -> ManagedObjectModel {
            try ManagedObjectModel(entities: [
                Entity(
                    "Pair",
                    attributes: [
                        AttributeDescription("a", .string), AttributeDescription("b", .string),
                        AttributeDescription("key", .string, optional: true, derivation: derivation),
                    ], uniquenessConstraints: [["key"]])
            ])
        }
        let store = try MigratedStore()
        try store.with(model("uppercase:(a)", "1")) { (context) throws in
            for number in 0 ..< 40 { try context.insert("Pair", ["a": .string("\(number)"), "b": .string("\((number + 1) % 40)")]) }
        }
        try store.with(model("uppercase:(b)", "2")) { (context) throws in
            for object in try context.all("Pair") { #expect(try object.value(forKey: "key") == object.value(forKey: "b")) }
            try context.insert("Pair", ["a": "x", "b": "7"])
            #expect(hornbeamError { try context.save() }?.code == .constraintConflict)
            context.rollback()
        }
    }

    // MARK: Backups

    @Test("MIG-5: openings that fail leave no copies; the one that succeeds leaves one", arguments: [false, true])
    func failedMigrationsLeaveNoCopies(throughCode: Bool) throws {
        let store = try Self.filled(["same", "same"])
        let folder = store.url.appendingPathExtension("copies")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let second = try Self.author("Writer") { $0.uniquenessConstraints = [["name"]] }
        let plan = try MigrationPlan([
            throughCode
                ? .custom(from: Self.author("Author"), to: second) { _ in } : .lightweight(from: Self.author("Author"), to: second)
        ])
        func copies() throws -> [URL] { try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) }
        for _ in 0 ..< 3 {
            let error = try #require(hornbeamError { _ = try store.open(plan) { $0.backupDirectory = folder } })
            #expect(error.code == .migrationConstraintViolation)
            #expect(try copies() == [])
        }
        try store.with(Self.author("Author")) { (context) throws in try context.all("Author")[0].setValue("other", forKey: "name") }
        try store.open(plan) { $0.backupDirectory = folder }.close()
        let old = try PersistentContainer.openReadOnly(at: try #require(copies().first))
        #expect(try old.newContext().values("Author", "name") == ["other", "same"])
        try old.close()
        #expect(try copies().count == 1)
    }
}
