import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Stages whose code reads old objects and writes new ones.
@Suite struct CustomStageTests {
    private static let first = try! ManagedObjectModel {
        Entity("Person") {
            Attribute("name", .string)
            Attribute("born", .string, optional: true)
            ToMany("works", to: "Work", inverse: "author")
        }
        Entity("Pupil") { Attribute("name", .string) }
        Entity("Work") {
            Attribute("title", .string, indexed: true)
            Attribute("isbn", .string, optional: true)
            ToOne("author", to: "Person", inverse: "works")
        }
    }

    private static func fill(_ store: MigratedStore) throws -> [String: ManagedObjectID] {
        try store.with(first) { (context) throws in
            let ursula = try context.insert("Person", ["name": "Ursula Le Guin", "born": "1929"])
            try context.insert("Person", ["name": "Homer"])
            for title in ["Always Coming Home", "The Dispossessed"] {
                let work = try context.insert("Work", ["title": .string(title), "isbn": "1"])
                try work.setValue(ursula, forKey: "author")
            }
            try context.insert("Work", ["title": "Ilias"])
            for name in ["Ged", "Tenar"] { try context.insert("Pupil", ["name": .string(name)]) }
            try context.save()
            var ids: [String: ManagedObjectID] = [:]
            for person in try context.all("Person") { ids["\(try person.value(forKey: "name"))"] = person.objectID }
            return ids
        }
    }

    /// The old version is complete.
    private static func expectUnchanged(_ store: MigratedStore) throws {
        try store.with(first) { (context) throws in
            #expect(try context.values("Person", "name") == ["Homer", "Ursula Le Guin"])
            #expect(try context.values("Work", "isbn", sortedBy: "title") == ["1", .null, "1"])
            #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Work").where("author.name BEGINSWITH 'Ursula'")) == 2)
        }
    }

    @Test("MIG-11: objects of two entities are merged, a to-many becomes a to-one, and a required attribute is computed from others")
    func shapesThatCannotBeInferred() throws {
        let second = try ManagedObjectModel {
            Entity("Person") {
                Attribute("name", .string)
                Attribute("lastName", .string, indexed: true)
                Attribute("role", .string)
                ToOne("works", to: "Work", inverse: "author")
            }
            Entity("Work") {
                Attribute("title", .string, indexed: true)
                ToOne("author", to: "Person", inverse: "works")
            }
        }
        let plan = try MigrationPlan([
            .custom(from: Self.first, to: second, label: "one work each") { migration in
                try migration.forEach("Person") { (old: ManagedObject, new: ManagedObject) in
                    guard case .string(let name) = try old.value(forKey: "name") else { return }
                    try new.setValue(.string(String(name.split(separator: " ").last ?? "")), forKey: "lastName")
                    try new.setValue("author", forKey: "role")
                    let works = try old.objects(forKey: "works").sorted { "\($0.primitiveTitle)" < "\($1.primitiveTitle)" }
                    try new.setValue(try works.first.flatMap { try migration.successor(of: $0) }, forKey: "works")
                    #expect(try migration.predecessor(of: new) === old)
                }
                try migration.forEach("Pupil") { old in
                    let person = try migration.destination.insert(entityNamed: "Person")
                    for key in ["name", "lastName"] { try person.setValue(try old.value(forKey: "name"), forKey: key) }
                    try person.setValue("pupil", forKey: "role")
                    #expect(try migration.successor(of: old) == nil)
                    #expect(try migration.predecessor(of: person) == nil)
                }
            }
        ])
        let store = try MigratedStore()
        let ids = try Self.fill(store)
        let container = try store.open(plan)
        let context = container.newContext()
        #expect(try context.values("Person", "lastName", sortedBy: "name") == ["Ged", "Homer", "Tenar", "Guin"])
        let ursula = try #require(try context.all("Person").first { try $0.value(forKey: "name") == "Ursula Le Guin" })
        #expect(ursula.objectID == ids["Ursula Le Guin"])
        #expect(try ursula.object(forKey: "works")?.value(forKey: "title") == "Always Coming Home")
        #expect(try context.all("Work", sortedBy: "title").map { try $0.object(forKey: "author")?.objectID } == [ursula.objectID, nil, nil])
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Person").where("lastName == 'Tenar'")) == 1)
        #expect(try container.openStore().check().problems == [])
        try container.close()
    }

    private static func unique() throws -> ManagedObjectModel {
        var definition = first.definition
        definition.entities[2].uniquenessConstraints = [["isbn"]]
        return try ManagedObjectModel(definition)
    }

    @Test("MIG-11: willMigrate removes objects that break a new constraint; without it the store does not change")
    func willMigratePreparesOldObjects() throws {
        let store = try MigratedStore()
        _ = try Self.fill(store)
        let second = try Self.unique()
        let error = try #require(hornbeamError { _ = try store.open(MigrationPlan([.custom(from: Self.first, to: second) { _ in }])) })
        #expect(error.code == .migrationConstraintViolation)
        #expect(error.details.map(\.objectIDs.count) == [2])
        try Self.expectUnchanged(store)
        let plan = try MigrationPlan([
            .lightweight(
                from: Self.first, to: second,
                willMigrate: { old in
                    for work in try old.fetch(FetchRequest<ManagedObject>(entityName: "Work").sorted(by: "title")).dropFirst() {
                        try work.setValue(.null, forKey: "isbn")
                    }
                })
        ])
        try store.with(plan) { (context) throws in
            #expect(try context.values("Work", "isbn", sortedBy: "title") == ["1", .null, .null])
            #expect(try context.values("Person", "name") == ["Homer", "Ursula Le Guin"])
        }
    }

    @Test("MIG-11: didMigrate reads the changes of willMigrate, and cannot write the old objects")
    func oldObjectsAreReadOnly() throws {
        let store = try MigratedStore()
        _ = try Self.fill(store)
        let second = try Self.unique()
        let plan = try MigrationPlan([
            .custom(
                from: Self.first, to: second,
                willMigrate: { old in
                    for work in try old.fetch(FetchRequest<ManagedObject>(entityName: "Work")) { try work.setValue(.null, forKey: "isbn") }
                },
                didMigrate: { migration in
                    try migration.forEach("Work") { (old: ManagedObject, new: ManagedObject) in
                        #expect(try old.value(forKey: "isbn") == .null)
                        try new.setValue(try old.value(forKey: "title"), forKey: "isbn")
                    }
                    #expect(try migration.source.fetch(FetchRequest<ManagedObject>(entityName: "Work").where("isbn != nil")).isEmpty)
                    #expect(try migration.destination.fetch(FetchRequest<ManagedObject>(entityName: "Work").where("isbn != nil")).count == 3)
                    let old = try #require(try migration.source.fetch(FetchRequest<ManagedObject>(entityName: "Work")).first)
                    try old.setValue("x", forKey: "isbn")
                    #expect(hornbeamError { try migration.source.save() }?.code == .readOnly)
                    migration.source.rollback()
                })
        ])
        try store.with(plan) { (context) throws in
            #expect(try context.values("Work", "isbn") == ["Always Coming Home", "Ilias", "The Dispossessed"])
        }
    }

    @Test("MIG-11: code that throws, or leaves a required attribute empty, is named with the stage and the objects, and nothing changes")
    func failingStagesChangeNothing() throws {
        struct Refused: Error {}
        let store = try MigratedStore()
        _ = try Self.fill(store)
        var definition = Self.first.definition
        definition.entities[0].attributes.append(AttributeDescription("rating", .integer16))
        let second = try ManagedObjectModel(definition)
        func failure(_ body: @escaping MigrationStage.Conversion) throws -> HornbeamError {
            let plan = try MigrationPlan([.custom(from: Self.first, to: second, label: "ratings", didMigrate: body)])
            let error = hornbeamError { _ = try store.open(plan) }
            guard let error else { throw Refused() }
            return error
        }
        let thrown = try failure { migration in
            try migration.forEach("Person") { (_: ManagedObject, new: ManagedObject) in try new.setValue(1, forKey: "rating") }
            throw Refused()
        }
        #expect(thrown.code == .migrationFailed && thrown.underlyingError is Refused && thrown.message.contains("“ratings”"))
        try Self.expectUnchanged(store)
        let empty = try failure { _ in }
        #expect(empty.code == .migrationConstraintViolation)
        #expect(empty.details.map(\.message) == ["2 objects of Person have no value in “rating”, which is required."])
        #expect(empty.details.map(\.objectIDs.count) == [2])
        try Self.expectUnchanged(store)
        let reported = try failure { migration in
            try migration.forEach("Person") { (old: ManagedObject, new: ManagedObject) in
                try new.setValue(1, forKey: "rating")
                _ = try migration.converted(old, "name", to: .integer16)
            }
        }
        #expect(reported.code == .migrationConstraintViolation)
        #expect(Set(reported.details.compactMap(\.value)) == ["Homer", "Ursula Le Guin"])
        try Self.expectUnchanged(store)
        let unknown = try failure { migration in try migration.forEach("Persson") { (_: ManagedObject) in } }
        #expect(unknown.code == .migrationFailed && unknown.details.count == 1)
        try Self.expectUnchanged(store)
    }

    @Test("REL-6, MIG-11: objects that a new deny rule protects are named when a stage deletes the object at the other end")
    func denyRulesHold() throws {
        let store = try MigratedStore()
        _ = try Self.fill(store)
        var definition = Self.first.definition
        definition.entities[0].relationships[0].deleteRule = .deny
        definition.entities[0].versionHashModifier = "2"
        let plan = try MigrationPlan([
            .custom(from: Self.first, to: ManagedObjectModel(definition)) { migration in
                try migration.forEach("Person") { (_: ManagedObject, new: ManagedObject) in migration.destination.delete(new) }
            }
        ])
        let error = try #require(hornbeamError { _ = try store.open(plan) })
        #expect(error.code == .migrationConstraintViolation)
        #expect(error.details.map(\.code) == [.deleteDenied])
        try Self.expectUnchanged(store)
    }

    @Test("MIG-9: custom stages are followed and cancelled; a copy is made before, once for all stages")
    func stagesAreFollowedAndCancelled() async throws {
        let store = try MigratedStore()
        _ = try Self.fill(store)
        try store.with(Self.first) { (context) throws in
            for number in 0 ..< 2_500 { try context.insert("Pupil", ["name": .string("\(number)")]) }
        }
        var definition = Self.first.definition
        definition.entities[1].attributes.append(AttributeDescription("rating", .integer16, optional: true))
        let second = try ManagedObjectModel(definition)
        definition.entities[1].attributes.append(AttributeDescription("rank", .integer16, optional: true))
        let third = try ManagedObjectModel(definition)
        let plan = try MigrationPlan([
            .custom(from: Self.first, to: second, label: "ratings") { migration in
                try migration.forEach("Pupil") { (_: ManagedObject, new: ManagedObject) in try new.setValue(1, forKey: "rating") }
            },
            .custom(from: second, to: third) { _ in },
        ])
        let stopped = MigrationMonitor()
        stopped.progress.cancel()
        #expect(hornbeamError { _ = try store.open(plan, monitor: stopped) }?.code == .migrationCancelled)
        try Self.expectUnchanged(store)
        let folder = store.url.deletingLastPathComponent().appending(path: "backup-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let monitor = MigrationMonitor()
        try store.open(plan, monitor: monitor) { $0.backupDirectory = folder }.close()
        var parts: Set<String> = []
        for await step in monitor.steps { parts.insert("\(step.part) \(step.done)/\(step.total)") }
        #expect(parts.isSuperset(of: ["ratings: Pupil 1000/2502", "ratings: Pupil 2502/2502", "switching 1/1"]))
        let copies = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(copies.count == 1)
        let old = try await PersistentContainer.open(at: try #require(copies.first), model: Self.first)
        #expect(try old.newContext().all("Pupil").count == 2_502)
        try old.close()
    }

    @Test("MIG-9: a stage that is cancelled while its code runs leaves the store as it was")
    func runningStageIsCancelled() throws {
        let store = try MigratedStore()
        _ = try Self.fill(store)
        var definition = Self.first.definition
        definition.entities[1].attributes.append(AttributeDescription("rating", .integer16, optional: true))
        let monitor = MigrationMonitor()
        let plan = try MigrationPlan([
            .custom(from: Self.first, to: ManagedObjectModel(definition)) { migration in
                migration.batchSize = 1
                try migration.forEach("Pupil") { (_: ManagedObject, new: ManagedObject) in
                    try new.setValue(1, forKey: "rating")
                    monitor.cancel()
                }
            }
        ])
        #expect(hornbeamError { _ = try store.open(plan, monitor: monitor) }?.code == .migrationCancelled)
        try Self.expectUnchanged(store)
    }

    @Test("HIS-1, PSC-8: history, metadata and IDs survive a custom stage, and history has the label of the stage")
    func storeKeepsItsIdentity() throws {
        let store = try MigratedStore()
        let ids = try Self.fill(store)
        let before = try store.open(Self.first)
        let identifier = try #require(before.persistentStoreCoordinator.persistentStores.first).identifier
        try before.persistentStoreCoordinator.setMetadata(["note": "kept"], for: try #require(before.persistentStoreCoordinator.persistentStores.first))
        try before.close()
        var definition = Self.first.definition
        definition.entities[0].versionHashModifier = "2"
        let plan = try MigrationPlan([.custom(from: Self.first, to: ManagedObjectModel(definition), label: "nothing") { _ in }])
        let container = try store.open(plan)
        defer { try? container.close() }
        let opened = try #require(container.persistentStoreCoordinator.persistentStores.first)
        #expect(opened.identifier == identifier)
        #expect(try container.persistentStoreCoordinator.metadata(for: opened)["note"] == "kept")
        #expect(Set(try container.newContext().all("Person").map(\.objectID)) == Set(ids.values))
        guard case .transactions(let transactions, _) = try container.history.fetch(after: nil) else {
            Issue.record("history is not whole")
            return
        }
        #expect(transactions.map(\.kind) == [.save, .migration])
        #expect(transactions.last?.label == "nothing")
        #expect(Set(ids.values).isSubset(of: transactions[0].changes.map(\.objectID)))
    }
}

extension ManagedObject {
    fileprivate var primitiveTitle: PropertyValue { (try? value(forKey: "title")) ?? .null }
}
