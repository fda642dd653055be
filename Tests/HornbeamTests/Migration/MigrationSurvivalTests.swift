import Foundation
import Hornbeam
import HornbeamModel
import HornbeamStore
import Testing

/// The data and objects that survive a migration, and those that do not.
@Suite struct MigrationSurvivalTests {
    private static let first = try! ManagedObjectModel {
        Entity("Author") {
            Attribute("name", .string)
            Attribute("rank", .integer32, optional: true)
            ToMany("books", to: "Book", inverse: "author")
        }
        Entity("Book") {
            Attribute("title", .string)
            ToOne("author", to: "Author", inverse: "books")
        }
    }

    /// Renames an entity and an attribute, adds an attribute, and rewrites the rows of authors without a rank.
    private static let second = try! ManagedObjectModel {
        Entity("Writer", renamedFrom: "Author") {
            Attribute("fullName", .string, renamedFrom: "name")
            Attribute("rank", .integer32, default: 7)
            Attribute("motto", .string, default: "none yet")
            ToMany("books", to: "Book", inverse: "author")
        }
        Entity("Book") {
            Attribute("title", .string)
            ToOne("author", to: "Writer", inverse: "books")
        }
    }

    private static func fill(_ context: ManagedObjectContext, from start: Int = 0, count: Int = 3) throws {
        for number in start ..< start + count {
            let author = try context.insert("Author", ["name": .string("author \(number)"), "rank": number % 2 == 0 ? .null : .int(Int64(number))])
            try context.insert("Book", ["title": .string("book \(number)")]).setValue(author, forKey: "author")
        }
        try context.save()
    }

    @Test("MIG-1, PSC-8, PSC-12, HIS-5: metadata, IDs under former names, and history after an old token survive")
    func metadataIDsAndHistorySurvive() throws {
        let store = try MigratedStore()
        let before = try store.open(Self.first)
        let context = before.newContext()
        try Self.fill(context)
        let token = try before.history.currentToken()
        try Self.fill(context, from: 3, count: 1)
        let coordinator = before.persistentStoreCoordinator
        let open = try #require(coordinator.persistentStores.first)
        try coordinator.setMetadata(["synced": .int(12)], for: open)
        let authors = try context.all("Author", sortedBy: "name").map { $0.objectID.uriRepresentation() }
        try before.close()

        let after = try store.open(Self.second)
        defer { try? after.close() }
        let stores = after.persistentStoreCoordinator
        #expect(try stores.metadata(for: try #require(stores.persistentStores.first))["synced"] == 12)
        let reading = after.newContext()
        for (number, uri) in authors.enumerated() {
            let id = try #require(stores.managedObjectID(forURIRepresentation: uri))
            #expect(id.entityName == "Writer")
            let writer = try reading.existingObject(with: id)
            #expect(try writer.value(forKey: "fullName") == .string("author \(number)"))
            #expect(try writer.objects(forKey: "books").map { try $0.value(forKey: "title") } == [.string("book \(number)")])
        }
        guard case .transactions(let transactions, _) = try after.history.fetch(after: token) else {
            Issue.record("history has a gap")
            return
        }
        #expect(transactions.map(\.kind) == [.save, .migration])
        #expect(Set(transactions[0].changes.map(\.objectID.entityName)) == ["Writer", "Book"])
        #expect(transactions[0].changes.contains { stores.managedObjectID(forURIRepresentation: authors[3]) == $0.objectID })
    }

    @Test("QGN-3, MIG-1: states from before a migration are not retained, and pinning to them throws")
    func statesOfTheOldVersionAreNotRead() throws {
        let store = try MigratedStore()
        try store.with(Self.first) { (context) throws in try Self.fill(context, count: 50) }
        var description = PersistentStoreDescription(url: store.url)
        description.retainedGenerations = 100
        let container = try PersistentContainer(name: "retaining", model: Self.second)
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        defer { try? container.close() }
        let coordinator = container.persistentStoreCoordinator
        let opened = try #require(coordinator.retainedTransactions().values.first)
        #expect(opened.count == 1)
        let error = hornbeamError { _ = try coordinator.queryGeneration(at: opened[0] - 1) }
        #expect(error?.code == .snapshotExpired)
        #expect(error?.message.hasSuffix("The oldest readable one is \(opened[0]).") == true)
        let context = container.newContext()
        try context.insert("Writer", ["fullName": "new"])
        try context.save()
        let reading = container.newContext()
        try reading.setQueryGeneration(from: try coordinator.queryGeneration(at: opened[0]))
        #expect(try reading.values("Writer", "motto").count == 50)
    }

    // MARK: Readers

    /// The path of the store that a child process migrates.
    private static func url(ofChildOf process: pid_t) -> URL {
        FileManager.default.temporaryDirectory.appending(path: "hornbeam-migrated-\(process).hornbeam")
    }

    /// The child: migrates the store of its parent, and changes it.
    static func migrateParentsStore() throws {
        let container = try PersistentContainer.open(at: url(ofChildOf: getppid()), model: second)
        let context = container.newContext()
        for number in 0 ..< 20 {
            try context.insert("Writer", ["fullName": .string("later \(number)")])
            try context.save()
        }
        let coordinator = container.persistentStoreCoordinator
        if let store = coordinator.persistentStores.first { try coordinator.compact(store) }
        try container.close()
    }

    @Test("MIG-1, PSC-22: a reader in another process reads the old version until it opens the store again")
    func readersKeepTheOldVersion() async throws {
        let url = Self.url(ofChildOf: getpid())
        defer { try? FileManager.default.removeItem(at: url) }
        try? FileManager.default.removeItem(at: url)
        let container = try await PersistentContainer.open(at: url, model: Self.first)
        try Self.fill(container.newContext(), count: 500)
        try container.close()
        let reader = try PersistentContainer.openReadOnly(at: url)
        let context = reader.newContext()
        let names = try context.values("Author", "name")
        #expect(names.count == 500)
        await #expect(processExitsWith: .success) { try MigrationSurvivalTests.migrateParentsStore() }
        #expect(try context.values("Author", "rank").count { $0.isNull } == 250)
        #expect(try reader.newContext().values("Author", "name") == names)
        for _ in 0 ..< 2 {
            let error = hornbeamError { _ = try reader.persistentStoreCoordinator.refreshReadOnlyStores() }
            #expect(error?.code == .modelMismatch)
            #expect(error?.message.contains("shows its last state of the old model") == true)
            let later = reader.newContext()
            #expect(try later.values("Author", "name") == names)
            #expect(try later.all("Author", sortedBy: "name")[0].objects(forKey: "books").count == 1)
        }
        try reader.close()
        let again = try PersistentContainer.openReadOnly(at: url)
        #expect(try again.newContext().values("Writer", "motto").count == 520)
        #expect(try again.newContext().values("Writer", "rank").count { $0 == 7 } == 271)
        try again.close()
    }

    // MARK: Broken rules

    @Test("MIG-2, MOD-8: violations of several new rules are reported together with their objects, and nothing changes")
    func allBrokenRulesAreReported() throws {
        let old = try ManagedObjectModel {
            Entity("Place", abstract: true) { Attribute("code", .string, optional: true) }
            Entity("Town", parent: "Place") { Attribute("name", .string, optional: true) }
            Entity("River", parent: "Place") {
                Attribute("length", .integer32, optional: true)
                ToOne("mouth", to: "Town")
            }
        }
        var definition = old.definition
        definition.entities[0].uniquenessConstraints = [["code"]]
        definition.entities[1].uniquenessConstraints = [["name"]]
        definition.entities[2].relationships[0].isOptional = false
        let new = try ManagedObjectModel(definition)
        let store = try MigratedStore()
        let ids = try store.with(old) { (context) throws in
            let towns = try ["Rome", "Rome", "Bern"].enumerated().map { number, name in
                try context.insert("Town", ["code": .string("T\(number)"), "name": .string(name)])
            }
            let rivers = try ["T2", "R1", "R2"].map { try context.insert("River", ["code": .string($0)]) }
            try rivers[1].setValue(towns[0], forKey: "mouth")
            try context.save()
            return (towns + rivers).map { $0.objectID.uriRepresentation() }
        }
        let error = try #require(hornbeamError { _ = try store.open(new) })
        #expect(error.code == .migrationConstraintViolation)
        let found = error.details.map { detail in
            "\(detail.entity ?? "") \(detail.key ?? ""): "
                + detail.objectIDs.compactMap { ids.firstIndex(of: $0.uriRepresentation()) }.sorted().map(String.init).joined(separator: " ")
        }
        #expect(found.sorted() == ["Place code: 2 3", "River mouth: 3 5", "Town name: 0 1"])
        #expect(Set(error.objectIDs.map { $0.uriRepresentation() }) == Set([0, 1, 2, 3, 5].map { ids[$0] }))
        #expect(error.message.contains("The store stays at"))
        try store.with(old) { (context) throws in
            #expect(try context.values("Town", "name") == ["Bern", "Rome", "Rome"])
            #expect(try context.values("River", "code") == ["R1", "R2", "T2"])
        }
    }
}
