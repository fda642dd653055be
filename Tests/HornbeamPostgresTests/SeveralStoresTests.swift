#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// A store on a server beside another one in a coordinator: Hornbeam finds the results of fetches in the rows of the server.
@Suite(.enabled(if: PostgresServer.isThere)) struct SeveralStoresTests {
    private let schema = PostgresServer.freshSchema()

    /// A container with the store on the server, which does not read the saves of others, and a store in memory.
    private func opened() throws -> PersistentContainer {
        let container = try PostgresServer.container(.postgres(PostgresServer.connection ?? "", schema: schema, connectionsMax: 3, pollInterval: .seconds(600)))
        try container.persistentStoreCoordinator.addPersistentStore(.inMemory())
        return container
    }

    /// Another process, with a book of the author “old”.
    private func writer() throws -> (ManagedObjectContext, ManagedObject) {
        let context = try PostgresServer.container(schema).newContext()
        let author = try context.make("Author", ["name": "old"])
        try context.make("Book", ["title": "b"]).setValue(author, forKey: "author")
        try context.save()
        return (context, author)
    }

    private func titles(_ context: ManagedObjectContext, _ format: String) throws -> [PropertyValue] {
        let found = try context.all("Book", by: "title", format)
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Book", predicate: FetchPredicate(format: format))) == found.count)
        var groups = FetchRequest<[String: PropertyValue]>(entityName: "Book", predicate: try FetchPredicate(format: format))
        groups.propertiesToGroupBy = ["author.name"]
        groups.propertiesToFetch = ["author.name", .count(as: "n")]
        #expect(try context.fetch(groups).map { $0["n"] } == (found.isEmpty ? [] : [.int(Int64(found.count))]))
        return try found.map { try $0.value(forKey: "title") }
    }

    /// The cache still had the author with the former name.
    @Test("PSC-2: an object that the server no longer finds is no result, although its cached related objects satisfy the condition")
    func formerRelatedObjects() throws {
        let (other, author) = try writer()
        let container = try opened()
        #expect(try titles(container.newContext(), "author.name == 'old'") == ["b"])
        try author.setValue("new", forKey: "name")
        try other.save()
        #expect(try titles(container.newContext(), "author.name == 'old'") == [])
        #expect(try titles(container.newContext(), "author.name == 'new'") == ["b"])
        try container.close()
    }

    /// Only the objects that satisfy the condition on the server were read.
    @Test("PSC-2: unsaved changes of related objects find objects that this process has not read")
    func unsavedRelatedObjects() throws {
        _ = try writer()
        let container = try opened()
        let context = container.newContext()
        try #require(context.all("Author", by: "name").first).setValue("mine", forKey: "name")
        #expect(try titles(context, "author.name == 'mine'") == ["b"])
        #expect(try titles(context.newChildContext(), "author.name == 'mine'") == ["b"])
        try container.close()
    }

    /// Hornbeam found the results in the rows of the server, because the store was not the first one.
    @Test("PSC-2: a store that remains when another one was removed answers queries itself")
    func remainingStores() throws {
        let container = try PostgresServer.container(.inMemory())
        let coordinator = container.persistentStoreCoordinator
        try coordinator.addPersistentStore(PostgresServer.description(schema))
        try coordinator.remove(#require(coordinator.persistentStores.first))
        _ = try writer()
        let context = container.newContext()
        #expect(try titles(context, "author.name == 'old'") == ["b"])
        #expect(try titles(context, "title MATCHES 'b'") == ["b"])
        var request = FetchRequest<ManagedObject>(entityName: "Book", sortedBy: [FetchSort("title")])
        (request.fetchLimit, request.relationshipKeyPathsForPrefetching) = (1, ["author", "tags"])
        #expect(try context.explain(request).contains("  by the server"))
        let book = try #require(context.fetch(request).first)
        let author = try #require(try book.object(forKey: "author"))
        #expect(try author.value(forKey: "name") == "old")
        var rows = FetchRequest<[String: PropertyValue]>(entityName: "Book")
        rows.propertiesToFetch = ["author"]
        #expect(try context.fetch(rows).map { $0["author"] } == [.objectID(author.objectID)])
        // Unsaved changes, which the server must leave out.
        try book.setValue("changed", forKey: "title")
        try context.make("Book", ["title": "new"]).setValue(author, forKey: "author")
        #expect(try titles(context, "title == 'b'") == [])
        #expect(try titles(context, "author.name == 'old'") == ["changed", "new"])
        try context.save()
        #expect(try titles(container.newContext(), "title MATCHES 'c.*'") == ["changed"])
        context.delete(book)
        #expect(try titles(context, "author.name == 'old'") == ["new"])
        request.affectedStores = []
        #expect(try context.fetch(request).isEmpty && context.count(request) == 0)
        try container.close()
    }

    @Test("PSC-2: objects of both stores have one order and window, and dictionaries have values of related objects")
    func bothStores() throws {
        _ = try writer()
        let container = try opened()
        let context = container.newContext()
        let here = try #require(container.persistentStoreCoordinator.persistentStores.last)
        for title in ["a", "c"] { try context.assign(context.make("Book", ["title": .string(title)]), to: here) }
        try context.save()
        var request = FetchRequest<ManagedObject>(entityName: "Book", sortedBy: [FetchSort("title")])
        (request.fetchOffset, request.fetchLimit) = (1, 2)
        #expect(try container.newContext().fetch(request).map { try $0.value(forKey: "title") } == ["b", "c"])
        var rows = FetchRequest<[String: PropertyValue]>(entityName: "Book", sortedBy: [FetchSort("title")])
        rows.propertiesToFetch = ["title", "author.name"]
        #expect(try container.newContext().fetch(rows).map { $0["author.name"] } == [.null, "old", .null])
        try container.close()
    }
}
#endif
