import Foundation
import Hornbeam
import HornbeamStore
import Synchronization
import Testing

/// The effects of the code of a stage: they appear with the stage, and none before or afterwards.
@Suite struct StageBoundsTests {
    struct Refused: Error {}

    private static let first = try! ManagedObjectModel {
        Entity("Person") { Attribute("name", .string) }
        Entity("City") { Attribute("name", .string) }
    }

    private static func version(_ change: (inout ModelDefinition) -> Void = { $0.entities[0].versionHashModifier = "2" }) throws -> ManagedObjectModel {
        var definition = first.definition
        change(&definition)
        return try ManagedObjectModel(definition)
    }

    private static func fill(_ store: MigratedStore, people: Int = 3) throws {
        let container = try store.open(first)
        let context = container.newContext()
        for number in 0 ..< people { try context.insert("Person", ["name": .string("\(number)")]) }
        try context.save()
        try container.persistentStoreCoordinator.setMetadata(["step": "old"], for: #require(container.persistentStoreCoordinator.persistentStores.first))
        try container.close()
    }

    private static func note(_ value: PropertyValue, _ context: ManagedObjectContext) throws {
        let coordinator = context.persistentStoreCoordinator
        try coordinator.setMetadata(["step": value], for: try #require(coordinator.persistentStores.first))
    }

    private static func note(_ context: ManagedObjectContext) throws -> PropertyValue? {
        let coordinator = context.persistentStoreCoordinator
        return try coordinator.metadata(for: try #require(coordinator.persistentStores.first))["step"]
    }

    @Test("PSC-8, MIG-11: metadata that a stage sets is the store's when the stage ends, and not when it fails", arguments: [false, true])
    func metadataBelongsToTheStage(fails: Bool) throws {
        let store = try MigratedStore()
        try Self.fill(store)
        let plan = try MigrationPlan([
            .custom(
                from: Self.first, to: Self.version(),
                willMigrate: { old in
                    #expect(try Self.note(old) == "old")
                    try Self.note("prepared", old)
                },
                didMigrate: { migration in
                    #expect(try Self.note(migration.destination) == "prepared")
                    try Self.note("new", migration.destination)
                    #expect(try Self.note(migration.destination) == "new")
                    if fails { throw Refused() }
                })
        ])
        if fails {
            #expect(hornbeamError { _ = try store.open(plan) }?.code == .migrationFailed)
            try store.with(Self.first) { (context) throws in #expect(try Self.note(context) == "old") }
        } else {
            try store.with(plan) { (context) throws in #expect(try Self.note(context) == "new") }
            try store.with(plan) { (context) throws in #expect(try Self.note(context) == "new") }
        }
    }

    @Test("MIG-11: a context that outlives its stage saves nothing; removing the stores of a stage does not close the store")
    func contextsEndWithTheStage() throws {
        let store = try MigratedStore()
        try Self.fill(store)
        nonisolated(unsafe) var escaped: ManagedObjectContext?  // used by this thread only
        let plan = try MigrationPlan([
            .custom(from: Self.first, to: Self.version()) { migration in
                escaped = migration.destination
                let coordinator = migration.source.persistentStoreCoordinator
                try coordinator.remove(try #require(coordinator.persistentStores.first))
            }
        ])
        try store.with(plan) { (context) throws in
            let late = try #require(escaped)
            try late.insert("Person", ["name": "late"])
            #expect(hornbeamError { try late.save() }?.code == .closed)
            #expect(try context.values("Person", "name") == ["0", "1", "2"])
            try context.insert("Person", ["name": "3"])
            try context.save()
        }
        escaped = nil
        try store.with(plan) { (context) throws in #expect(try context.all("Person").count == 4) }
    }

    private static func abstract() throws -> ManagedObjectModel {
        try version { definition in
            definition.entities[0].isAbstract = true
            definition.entities.append(Entity("Employee", parent: "Person"))
        }
    }

    @Test("MIG-11: without code for its objects an entity does not become abstract, and a store of other entities is not taken over")
    func stagesWithPreparationAreChecked() throws {
        let store = try MigratedStore()
        try Self.fill(store)
        let touch: MigrationStage.Preparation = { old in for person in try old.all("Person") { try person.setValue("x", forKey: "name") } }
        let abstract = try #require(hornbeamError {
            _ = try store.open(MigrationPlan([.lightweight(from: Self.first, to: Self.abstract(), willMigrate: touch)]))
        })
        #expect(abstract.code == .migrationConstraintViolation)
        let strange = try ManagedObjectModel { Entity("Invoice") { Attribute("number", .integer32, default: 0) } }
        let other = try #require(hornbeamError { _ = try store.open(MigrationPlan([.lightweight(from: Self.first, to: strange, willMigrate: touch)])) })
        #expect(other.code == .modelMismatch)
        try store.with(Self.first) { (context) throws in #expect(try context.values("Person", "name") == ["0", "1", "2"]) }
        // The preparation may delete the objects, or code may take them over.
        let plan = try MigrationPlan([
            .custom(from: Self.first, to: Self.abstract()) { migration in
                try migration.forEach("Person") { old in
                    #expect(try migration.successor(of: old) == nil)
                    #expect(try migration.destinationObjects(for: old).isEmpty)
                    let employee = try migration.destination.insert(entityNamed: "Employee")
                    try employee.setValue(try old.value(forKey: "name"), forKey: "name")
                }
            }
        ])
        try store.with(plan) { (context) throws in #expect(try context.values("Person", "name") == ["0", "1", "2"]) }
    }

    // MARK: Cancellation

    /// Cancels at the n-th report of progress.
    private static func options(_ plan: MigrationPlan?, cancellingAt number: Int, _ count: Counter) -> MigrationOptions {
        var options = MigrationOptions()
        options.batchSize = 16
        if let plan {
            options.take(plan.versions)
            options.stages = plan.steps
        }
        options.progress = { _ in
            if count.next() == number { throw HornbeamError(.migrationCancelled, "The migration was cancelled.") }
        }
        return options
    }

    private final class Counter: Sendable {
        private let value = Atomic(0)
        func next() -> Int { value.wrappingAdd(1, ordering: .relaxed).newValue }
    }

    @Test("MIG-9: a migration that is cancelled at any of its steps leaves the old version, whole", arguments: ["inferred", "computed", "code"])
    func everyStepCanBeCancelled(kind: String) throws {
        let store = try MigratedStore()
        try Self.fill(store, people: 50)
        let second = try Self.version { definition in
            definition.entities[0].attributes[0].isOptional = true
            definition.entities[0].fetchIndexes = [FetchIndexDescription("name", [FetchIndexElement("name")])]
            definition.entities[0].relationships = [RelationshipDescription("cities", to: "City", toMany: true)]
            definition.entities[0].attributes.append(AttributeDescription("upper", .string, optional: true, derivation: "uppercase:(name)"))
        }
        let plan: MigrationPlan? =
            switch kind {
            case "inferred": nil
            case "computed":
                try MigrationPlan([
                    .lightweight(from: Self.first, to: second, changing: [EntityMapping(to: "Person", [try PropertyMapping("name", "name")])])
                ])
            default:
                try MigrationPlan([
                    .custom(from: Self.first, to: second) { migration in
                        migration.batchSize = 10
                        try migration.forEach("Person") { (_: ManagedObject, new: ManagedObject) in try new.setValue("y", forKey: "name") }
                    }
                ])
            }
        var step = 0
        while true {
            step += 1
            var options = Store.Options()
            options.migration = Self.options(plan, cancellingAt: step, Counter())
            do {
                let opened = try Store.open(.directory(store.url.path), model: second, options: options)
                #expect(try opened.check().problems == [])
                try opened.close()
                break
            } catch let error as HornbeamError {
                #expect(error.code == .migrationCancelled, "step \(step): \(error)")
            }
            let reading = try PersistentContainer.openReadOnly(at: store.url)
            #expect(reading.managedObjectModel.versionChecksum == Self.first.versionChecksum)
            #expect(try reading.newContext().all("Person").count == 50)
            try reading.close()
        }
        print("\(kind): cancelled at each of \(step - 1) steps")
        #expect(step > 2)
        try store.with(second) { (context) throws in
            #expect(try Set(context.values("Person", "upper")).count == (kind == "code" ? 1 : 50))
        }
    }

    // MARK: Two stores

    @Test("PSC-2, MIG-1: of two stores of a container one is migrated and the other one refused; both stay whole, and copies have names of their own")
    func storesOfAContainerMigrateEachByItself() throws {
        let stores = [try MigratedStore(), try MigratedStore()]
        let folder = stores[0].url.appendingPathExtension("parts")
        let urls = ["a", "b"].map { folder.appending(path: $0).appending(path: "People.hornbeam") }
        for (number, url) in urls.enumerated() {
            try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            let container = try PersistentContainer.open(at: url, model: Self.first)
            let context = container.newContext()
            for name in number == 0 ? ["x", "y"] : ["z", "z"] { try context.insert("Person", ["name": .string(name)]) }
            try context.save()
            try container.close()
        }
        let copies = folder.appending(path: "copies")
        try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: true)
        func container() throws -> PersistentContainer {
            let container = try PersistentContainer(name: "two", model: Self.version { $0.entities[0].uniquenessConstraints = [["name"]] })
            container.persistentStoreDescriptions = urls.map { url in
                var description = PersistentStoreDescription(url: url)
                description.backupDirectory = copies
                return description
            }
            return container
        }
        let both = try container()
        let error = try #require(hornbeamError { try both.loadPersistentStores() })
        #expect(error.code == .migrationConstraintViolation || error.details.map(\.code) == [.migrationConstraintViolation], "\(error)")
        #expect(try both.newContext().values("Person", "name") == ["x", "y"])
        try both.close()
        let old = try PersistentContainer.open(at: urls[1], model: Self.first)
        let context = old.newContext()
        context.delete(try context.all("Person")[0])
        try context.save()
        try old.close()
        let again = try container()
        try again.loadPersistentStores()
        #expect(try again.newContext().values("Person", "name") == ["x", "y", "z"])
        try again.close()
        #expect(try FileManager.default.contentsOfDirectory(at: copies, includingPropertiesForKeys: nil).count == 2)
        try FileManager.default.removeItem(at: folder)
    }
}
