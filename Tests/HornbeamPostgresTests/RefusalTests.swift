#if Postgres
import Foundation
import Hornbeam
import HornbeamConformance
import HornbeamPostgres
import Testing

/// The features that a store on a server does not have: each throws the error of the table in `Docs/Postgres.md`, and changes nothing.
@Suite(.enabled(if: PostgresServer.isThere)) struct RefusalTests {
    private let authors = FetchRequest<ManagedObject>(entityName: "Author")

    /// A container with one author.
    private func container() throws -> PersistentContainer {
        let container = try PostgresServer.container()
        let context = container.newContext()
        try context.insert(entityNamed: "Author").setValue("a", forKey: "name")
        try context.save()
        return container
    }

    @Test("QGN-1: query generations are refused, and the context continues")
    func generations() throws {
        let container = try container()
        let coordinator = container.persistentStoreCoordinator
        let context = container.newContext()
        let errors = [
            hornbeamError { try context.setQueryGeneration(from: .current) }, hornbeamError { _ = try coordinator.currentQueryGeneration() },
            hornbeamError { _ = try coordinator.queryGeneration(at: 1) }, hornbeamError { _ = try container.read { try $0.count(authors) } },
        ]
        for error in errors { #expect(error?.code == .unsupportedRequest) }
        #expect(coordinator.retainedTransactions().isEmpty && context.queryGenerationToken == nil)
        #expect(try context.count(authors) == 1)
    }

    @Test("PSC-14, PSC-15: a store on a server is not moved, checked, compacted, copied or packed, because only some of its rows are cached")
    func upkeep() throws {
        let container = try container()
        let coordinator = container.persistentStoreCoordinator
        let store = try #require(coordinator.persistentStores.first)
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let errors = [
            hornbeamError { _ = try coordinator.migratePersistentStore(store, to: PersistentStoreDescription(url: path)) },
            hornbeamError { _ = try coordinator.check(store) }, hornbeamError { try coordinator.compact(store) },
            hornbeamError { _ = try coordinator.space(of: store) }, hornbeamError { _ = try coordinator.backUp(store, to: path) },
            hornbeamError { _ = try coordinator.pack(store, to: path) },
        ]
        for error in errors { #expect(error?.code == .unsupportedRequest) }
        #expect(!FileManager.default.fileExists(atPath: path.path))
        #expect(try container.newContext().count(authors) == 1)
    }

    @Test("PSC-2: a save over a server and another store is refused before anything is written")
    func severalStores() throws {
        let container = try container()
        let other = try container.persistentStoreCoordinator.addPersistentStore(.inMemory())
        let context = container.newContext()
        for (name, store) in zip(["b", "c"], container.persistentStoreCoordinator.persistentStores) {
            let author = try context.insert(entityNamed: "Author")
            try author.setValue(.string(name), forKey: "name")
            try context.assign(author, to: store)
        }
        #expect(hornbeamError { try context.save() }?.code == .unsupportedRequest)
        #expect(try container.newContext().count(authors) == 1 && context.insertedObjects.count == 2)
        try container.persistentStoreCoordinator.remove(other)
    }

    @Test("PSC-7: a store that was added for reading only is read, and its saves and batches are refused")
    func readOnly() throws {
        let schema = PostgresServer.freshSchema()
        let writer = try PostgresServer.container(schema)
        let context = writer.newContext()
        try context.make("Author", ["name": "a"])
        try context.save()
        var description = PostgresServer.description(schema)
        description.isReadOnly = true
        let container = try PostgresServer.container(description)
        let reader = container.newContext()
        let author = try #require(reader.fetch(authors).first)
        try author.setValue("b", forKey: "name")
        #expect(hornbeamError { try reader.save() }?.code == .readOnly)
        var update = BatchUpdateRequest(entityName: "Author")
        update.set("name", to: "b")
        #expect(hornbeamError { _ = try container.newContext().execute(update) }?.code == .readOnly)
        #expect(try PostgresServer.sql("SELECT name FROM \"\(schema)\".\"Author\"") == "a")
        for container in [container, writer] { try container.close() }
    }

    @Test("names of entities that the store's own tables can have are refused, and nothing is created", arguments: ["_hornbeam", "_hornbeam_saves"])
    func names(name: String) throws {
        let schema = PostgresServer.freshSchema()
        let model = try ManagedObjectModel(entities: [Entity(name, attributes: [AttributeDescription("id", .integer64)], relationships: [])])
        let error = hornbeamError { _ = try PostgresServer.container(schema, model) }
        #expect(error?.code == .modelMismatch)
        #expect(error?.message.contains(name) == true && error?.message.contains("Rename the entity") == true, "\(error?.message ?? "")")
        #expect(try PostgresServer.sql("SELECT count(*) FROM pg_namespace WHERE nspname = '\(schema)'") == "0")
    }
}
#endif
