import Foundation
import Hornbeam
import HornbeamStore
import Testing

@Suite struct MigrationTests {
    private static let first = try! ManagedObjectModel {
        Entity("Author") {
            Attribute("name", .string)
            Attribute("born", .integer16, optional: true)
            ToMany("books", to: "Book", inverse: "author")
        }
        Entity("Book") {
            Attribute("title", .string, optional: true, indexed: true)
            Attribute("pages", .integer32, optional: true)
            ToOne("author", to: "Author", inverse: "books")
        }
        Entity("Paper") { Attribute("title", .string, optional: true) }
    }

    private static func fill(_ store: MigratedStore) throws -> [ManagedObjectID] {
        try store.with(first) { (context) throws in
            let author = try context.insert("Author", ["name": "Ursula", "born": 1929])
            for number in 1 ... 3 {
                let book = try context.insert("Book", ["title": .string("Book \(number)"), "pages": .int(Int64(number * 100))])
                try book.setValue(author, forKey: "author")
            }
            try context.insert("Book", ["title": .null])
            try context.insert("Paper", ["title": "gone"])
            try context.save()
            return try context.all("Book", sortedBy: "title").map(\.objectID)
        }
    }

    private static let second = try! ManagedObjectModel {
        Entity("Writer", renamedFrom: "Author") {
            Attribute("fullName", .string, renamedFrom: "name")
            Attribute("rating", .integer16, default: 3, indexed: true)
            Attribute("motto", .string, default: "none yet")
            ToMany("works", to: "Book", inverse: "author", renamedFrom: "books")
        }
        Entity("Book") {
            Attribute("title", .string, optional: true, indexed: true)
            Attribute("isbn", .string, optional: true)
            ToOne("author", to: "Writer", inverse: "works")
        }
        Entity("Shelf") {
            Attribute("place", .string, unique: true)
        }
    }

    @Test("MIG-1, MIG-2, MIG-5: a store is migrated when it is opened; objects keep their IDs, values and relationships")
    func storeIsMigratedAtOpening() throws {
        let store = try MigratedStore()
        let ids = try Self.fill(store)
        try store.with(Self.second) { (context) throws in
            let writer = try #require(try context.all("Writer").first)
            #expect(try writer.value(forKey: "fullName") == "Ursula")
            #expect(try writer.value(forKey: "rating") == 3)
            #expect(try writer.value(forKey: "motto") == "none yet")
            #expect(try writer.objects(forKey: "works").count == 3)
            #expect(try context.values("Book", "title") == [.null, "Book 1", "Book 2", "Book 3"])
            #expect(try context.all("Book", sortedBy: "title").map { $0.objectID.uriRepresentation() } == ids.map { $0.uriRepresentation() })
            #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Writer", predicate: try FetchPredicate(format: "rating == 3"))) == 1)
            try writer.setValue(5, forKey: "rating")
            try context.insert("Writer", ["fullName": "Octavia", "rating": 4])
            try context.insert("Shelf", ["place": "attic"])
        }
        try store.with(Self.second) { (context) throws in
            #expect(try context.values("Writer", "rating") == [4, 5])
            #expect(try context.values("Writer", "motto", sortedBy: "rating") == ["none yet", "none yet"])
        }
    }

    @Test("MIG-4: the plan has the change and the cost of each property, and writes nothing")
    func planWritesNothing() throws {
        let store = try MigratedStore()
        _ = try Self.fill(store)
        let plan = try #require(try store.plan(Self.second))
        #expect(
            plan.description == """
                Writer: renamed from Author
                  ~ fullName, renamed from name
                  + rating, new, with its default value
                  + motto, new, with its default value
                  ~ works, renamed from books
                  - born, removed
                Book: changed
                  + isbn, new, with its default value
                  - pages, removed
                Shelf: added
                Paper: removed with its objects
                Writer: no row is touched
                Book: no row is touched
                Paper: removed with 1 object
                index Writer(rating): built from the rows
                About 1 row or entry and 2 MiB are written.
                """)
        #expect(try store.plan(Self.first) == nil)
        try store.with(Self.first) { (context) throws in #expect(try context.all("Paper").count == 1) }
    }

    @Test("MIG-3, MIG-5: a store that needs code is refused with all obstacles, and stays readable with its own model")
    func storeThatNeedsCodeIsRefused() throws {
        let store = try MigratedStore()
        _ = try Self.fill(store)
        let model = try ManagedObjectModel {
            Entity("Author") { Attribute("name", .integer64) }
            Entity("Book") { Attribute("title", .string) }
        }
        let error = try #require(hornbeamError { _ = try store.open(model) })
        #expect(error.code == .inferredMappingFailed)
        #expect(error.details.map(\.key) == ["name", "title"])
        #expect(error.message.contains("cannot be migrated"))
        let reading = try PersistentContainer.openReadOnly(at: store.url)
        #expect(try reading.newContext().all("Book").count == 4)
        try reading.close()
        try store.with(Self.first) { (context) throws in #expect(try context.all("Book").count == 4) }
    }

    @Test("MIG-1: a model that has none of the store's entities is refused as a next version")
    func unrelatedModelIsRefused() throws {
        let store = try MigratedStore()
        _ = try Self.fill(store)
        let unrelated = try ManagedObjectModel { Entity("Star") { Attribute("name", .string, optional: true) } }
        #expect(hornbeamError { _ = try store.open(unrelated) }?.code == .modelMismatch)
        try store.with(Self.first) { (context) throws in #expect(try context.all("Book").count == 4) }
    }

    @Test("MIG-5: a description can forbid migration, or inference")
    func descriptionsForbidMigration() throws {
        let store = try MigratedStore()
        _ = try Self.fill(store)
        func code(_ change: (inout PersistentStoreDescription) -> Void) throws -> HornbeamError.Code? {
            var description = PersistentStoreDescription(url: store.url)
            change(&description)
            let coordinator = try PersistentStoreCoordinator(managedObjectModel: Self.second)
            return hornbeamError { try coordinator.addPersistentStore(description) }?.code
        }
        #expect(try code { $0.shouldMigrateStoreAutomatically = false } == .modelMismatch)
        #expect(try code { $0.shouldInferMappingModelAutomatically = false } == .missingMappingModel)
        #expect(try code { $0.isReadOnly = true } == .modelMismatch)
    }

    @Test("MIG-11: an older version of the model does not migrate a store back")
    func olderModelIsRefused() throws {
        let store = try MigratedStore()
        _ = try Self.fill(store)
        try store.with(Self.second) { _ in }
        let error = try #require(hornbeamError { _ = try store.open(Self.first) })
        #expect(error.code == .stagedMigrationBackwards)
        try store.with(Self.second) { (context) throws in #expect(try context.all("Book").count == 4) }
    }

    @Test("MIG-9: a migration is followed and cancelled; a cancelled one leaves the store as it was")
    func migrationIsFollowedAndCancelled() async throws {
        let store = try MigratedStore()
        try store.with(Self.first) { (context) throws in
            for number in 0 ..< 3_000 { try context.insert("Book", ["title": .string("\(number)")]) }
        }
        let model = try ManagedObjectModel {
            Entity("Author") {
                Attribute("name", .string)
                Attribute("born", .integer16, optional: true)
                ToMany("books", to: "Book", inverse: "author")
            }
            Entity("Book") {
                Attribute("title", .string, unique: true)
                Attribute("pages", .integer32, default: 7)
                ToOne("author", to: "Author", inverse: "books")
            }
            Entity("Paper") { Attribute("title", .string, optional: true) }
        }
        #expect(throws: HornbeamError.self) { try store.open(model) }
        var definition = model.definition
        definition.entities[1].attributes[0].isOptional = true
        let target = try ManagedObjectModel(definition)
        func load(_ monitor: MigrationMonitor) throws -> PersistentContainer {
            let container = try PersistentContainer(name: "monitored", model: target)
            container.persistentStoreDescriptions = [PersistentStoreDescription(url: store.url)]
            try container.loadPersistentStores(migration: monitor)
            return container
        }
        let cancelled = MigrationMonitor()
        cancelled.cancel()
        #expect(hornbeamError { _ = try load(cancelled) }?.code == .migrationCancelled)
        try store.with(Self.first) { (context) throws in #expect(try context.values("Book", "pages").allSatisfy(\.isNull)) }
        let monitor = MigrationMonitor()
        let container = try load(monitor)
        #expect(try container.newContext().values("Book", "pages").allSatisfy { $0 == 7 })
        #expect(try container.openStore().check().problems == [])
        try container.close()
        var steps: [StoreProgress] = []
        for await step in monitor.steps { steps.append(step) }
        #expect(steps.contains { $0.part == "Book" })
        #expect(monitor.progress.completedUnitCount > 0)
    }

    @Test("MIG-2, MOD-8: a new constraint names all objects that share a value, and nothing changes")
    func newConstraintNamesDuplicates() throws {
        let store = try MigratedStore()
        try store.with(Self.first) { (context) throws in
            for title in ["a", "b", "a", "c", "b", "a"] { try context.insert("Book", ["title": .string(title)]) }
        }
        var definition = Self.first.definition
        definition.entities[1].uniquenessConstraints = [["title"]]
        let model = try ManagedObjectModel(definition)
        let error = try #require(hornbeamError { _ = try store.open(model) })
        #expect(error.code == .migrationConstraintViolation)
        #expect(error.details.map(\.objectIDs.count).sorted() == [2, 3])
        try store.with(Self.first) { (context) throws in
            for book in try context.all("Book", sortedBy: "title").dropFirst() where try book.value(forKey: "title") != "c" {
                try book.setValue(.null, forKey: "title")
            }
        }
        try store.with(model) { (context) throws in
            #expect(try context.values("Book", "title") == [.null, .null, .null, .null, "a", "c"])
            #expect(try context.all("Book").count == 6)
        }
    }

    @Test("HIS-1: a migration is a transaction of the history, and records of surviving objects stay")
    func historySurvives() throws {
        let store = try MigratedStore()
        let ids = try Self.fill(store)
        let container = try store.open(Self.second)
        defer { try? container.close() }
        guard case .transactions(let transactions, _) = try container.history.fetch(after: nil) else {
            Issue.record("history is not whole")
            return
        }
        #expect(transactions.map(\.kind) == [.save, .migration])
        #expect(Set(ids.map { $0.uriRepresentation() }).isSubset(of: transactions[0].changes.map { $0.objectID.uriRepresentation() }))
        #expect(transactions[1].label == Self.second.versionChecksum)
    }

    @Test("MIG-5: a copy is made before the first change when the description names a folder for it")
    func backupIsMade() throws {
        let store = try MigratedStore()
        _ = try Self.fill(store)
        let folder = store.url.deletingLastPathComponent().appending(path: "backup-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var description = PersistentStoreDescription(url: store.url)
        description.backupDirectory = folder
        let container = try PersistentContainer(name: "backup", model: Self.second)
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        try container.close()
        let copies = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(copies.count == 1)
        let old = try PersistentContainer.open(at: try #require(copies.first), model: Self.first)
        #expect(try old.newContext().all("Book").count == 4)
        try old.close()
    }

    @Test("PSC-20, MIG-12: the space of a large removed entity is freed later")
    func removedEntityIsDroppedLater() throws {
        let store = try MigratedStore()
        let container = try store.open(Self.first)
        try container.performAndWait { context in
            _ = try context.execute(BatchInsertRequest(entityName: "Paper", objects: (0 ..< 25_000).map { _ in ["title": "x"] }))
        }
        try container.close()
        let second = try store.open(Self.second)
        defer { try? second.close() }
        let coordinator = second.persistentStoreCoordinator
        let open = try #require(coordinator.persistentStores.first)
        #expect(try coordinator.hasDeferredLightweightMigration(of: open))
        try coordinator.finishDeferredLightweightMigration(of: open)
        #expect(try !coordinator.hasDeferredLightweightMigration(of: open))
        #expect(try second.openStore().check().problems == [])
    }
}

@Suite struct VersionedModelTests {
    private static func version(_ name: String, _ identifier: String?, default value: PropertyValue = .null) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            Entity(
                "Note",
                attributes: [AttributeDescription(name, .string, optional: value.isNull, default: value, renamedFrom: identifier)])
        ])
    }

    @Test("MIG-13, MIG-14: a store is migrated through all versions, although a single step would lose values")
    func storeGoesThroughAllVersions() throws {
        let versions = [try Self.version("a", nil), try Self.version("b", "a", default: "none"), try Self.version("c", "b")]
        #expect(try MappingModel.inferred(from: versions[0], to: versions[2]).entityMappings[0].removedProperties == ["a"])
        let store = try MigratedStore()
        try store.with(versions[0]) { (context) throws in
            try context.insert("Note", ["a": "first"])
            try context.insert("Note")
        }
        func open(_ versions: [ManagedObjectModel]) throws -> PersistentContainer {
            let container = try PersistentContainer(name: "versions", versions: VersionedModel(versions))
            container.persistentStoreDescriptions = [PersistentStoreDescription(url: store.url)]
            try container.loadPersistentStores()
            return container
        }
        #expect(hornbeamError { _ = try open(Array(versions.dropFirst())) }?.code == .modelReferenceNotFound)
        let container = try open(versions)
        #expect(try container.newContext().values("Note", "c") == ["first", "none"])
        #expect(try container.openStore().check().problems == [])
        try container.close()
        #expect(hornbeamError { _ = try open(Array(versions.dropLast())) }?.code == .modelReferenceNotFound)
        #expect(hornbeamError { _ = try open([versions[0], versions[2], versions[1]]) }?.code == .stagedMigrationBackwards)
    }

    @Test("MIG-13: two versions with equal version hashes are refused; a folder of JSON models is read in order")
    func versionsAreDistinguished() throws {
        let first = try Self.version("a", nil)
        #expect(hornbeamError { _ = try VersionedModel([first, first]) }?.code == .modelsDiffer)
        let folder = try MigratedStore().url.deletingPathExtension()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let models = [first, try Self.version("b", "a"), try Self.version("c", "a")]
        for (model, name) in zip(models, ["Model 2", "Model 9", "Model 10"]) {
            try model.json().write(to: folder.appending(path: "\(name).json"))
        }
        let versions = try VersionedModel(contentsOf: folder)
        #expect(versions.versions.map(\.versionChecksum) == models.map(\.versionChecksum))
        #expect(versions.current.versionChecksum == models[2].versionChecksum)
    }
}
