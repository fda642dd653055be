#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Migrations of the tables in a real PostgreSQL server.
@Suite(.enabled(if: PostgresServer.isThere)) struct MigrationTests {
    private static func first() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Author") {
                Attribute("name", .string, unique: true)
                Attribute("born", .integer32, optional: true)
                Attribute("nickname", .string, optional: true)
                ToMany("books", to: "Book", inverse: "author", deleteRule: .cascade)
                ToMany("friends", to: "Author", inverse: "friends")
            }
            Entity("Book") {
                Attribute("title", .string)
                ToOne("author", to: "Author", inverse: "books")
                ToMany("tags", to: "Tag", inverse: "books")
            }
            Entity("Tag") {
                Attribute("label", .string)
                ToMany("books", to: "Book", inverse: "tags")
            }
        }
    }

    /// `Author.name` is renamed, `nickname` and `Tag` are removed, `rating` and `Shelf` are new, and `born` is required.
    private static func second() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Author") {
                Attribute("fullName", .string, unique: true, renamedFrom: "name")
                Attribute("born", .integer32, default: 1900)
                ToMany("books", to: "Book", inverse: "author", deleteRule: .cascade)
                ToMany("friends", to: "Author", inverse: "friends")
            }
            Entity("Book") {
                Attribute("title", .string)
                Attribute("rating", .double, default: 2.5)
                ToOne("author", to: "Author", inverse: "books")
                ToOne("shelf", to: "Shelf", inverse: "books")
            }
            Entity("Shelf") {
                Attribute("place", .string, optional: true)
                ToMany("books", to: "Book", inverse: "shelf")
            }
        }
    }

    private func open(_ schema: String, _ model: ManagedObjectModel, migrates: Bool = true) throws -> PersistentContainer {
        try PostgresServer.container(.postgres(PostgresServer.connection ?? "", schema: schema, connectionsMax: 3, migrates: migrates), model)
    }

    /// Makes a store of the first model with two authors, who are friends, and two books, and closes it.
    private func filledSchema() throws -> String {
        let schema = PostgresServer.freshSchema()
        let container = try open(schema, Self.first())
        let context = container.newContext()
        var authors: [ManagedObject] = []
        for name in ["Ann", "Bob"] {
            let author = try context.insert(entityNamed: "Author")
            try author.setValue(.string(name), forKey: "name")
            if name == "Ann" { try author.setValue(1950, forKey: "born") }
            authors.append(author)
            let book = try context.insert(entityNamed: "Book")
            try book.setValue(.string("by \(name)"), forKey: "title")
            try book.setValue(.objectID(author.objectID), forKey: "author")
        }
        try authors[0].setValue(.set([.objectID(authors[1].objectID)]), forKey: "friends")
        try context.save()
        try container.close()
        return schema
    }

    private func texts(_ container: PersistentContainer, _ entity: String, _ key: String) throws -> [PropertyValue] {
        try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: entity, sortedBy: [FetchSort(key)])).map { try $0.value(forKey: key) }
    }

    @Test("saves of removed entities before a migration do not stop the announcements after it", .timeLimit(.minutes(20)))
    func announcementsAfterAMigration() throws {
        let schema = try filledSchema()
        // A listener begins with the oldest transaction that is not complete.
        let holder = try PostgresServer.holding("SELECT pg_current_xact_id()")
        defer { holder.terminate() }
        let old = try open(schema, Self.first())
        let context = old.newContext()
        try context.make("Tag", ["label": "t"])
        try context.save()
        try old.close()
        let (listening, writing) = (try open(schema, Self.second()), try open(schema, Self.second()))
        let (reader, writer) = (listening.newContext(), writing.newContext())
        let author = try #require(reader.all("Author", by: "fullName").first)
        try #require(writer.all("Author", by: "fullName").first).setValue(1800, forKey: "born")
        try writer.save()
        while try author.value(forKey: "born") != 1800 {
            usleep(20_000)
            try reader.mergeChanges()
        }
        try listening.close()
        try writing.close()
    }

    @Test("MIG-2: properties and entities are added, renamed and removed, and the others keep their values and IDs")
    func rowsAreMigrated() throws {
        let schema = try filledSchema()
        let container = try open(schema, Self.second())
        let context = container.newContext()
        let authors = try context.fetch(FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("fullName")]))
        #expect(try authors.map { try $0.value(forKey: "fullName") } == ["Ann", "Bob"])
        #expect(try authors.map { try $0.value(forKey: "born") } == [1950, 1900])
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Author", predicate: FetchPredicate(format: "ANY friends.fullName == 'Bob'"))) == 1)
        let books = try context.fetch(
            FetchRequest<ManagedObject>(entityName: "Book", predicate: FetchPredicate(format: "author.fullName == 'Bob' AND rating == 2.5")))
        #expect(try books.map { try $0.value(forKey: "title") } == ["by Bob"])
        let shelf = try context.insert(entityNamed: "Shelf")
        try shelf.setValue("hall", forKey: "place")
        try books.first?.setValue(.objectID(shelf.objectID), forKey: "shelf")
        let twin = try context.insert(entityNamed: "Author")
        try twin.setValue("Ann", forKey: "fullName")
        #expect(hornbeamError { try context.save() }?.code == .constraintConflict)
        context.delete(twin)
        try context.save()
        try container.close()
        #expect(try texts(open(schema, Self.second()), "Shelf", "place") == ["hall"])
    }

    @Test("MIG-3: a migration that fails in the middle leaves all as it was")
    func failureChangesNothing() throws {
        let schema = try filledSchema()
        // The renamed attributes are equal, so that the new unique constraint fails at the end.
        let model = try ManagedObjectModel {
            Entity("Author") {
                Attribute("name", .string)
                Attribute("kind", .string, default: "author", unique: true)
            }
        }
        #expect(hornbeamError { _ = try open(schema, model) } != nil)
        let container = try open(schema, Self.first(), migrates: false)
        #expect(try texts(container, "Author", "name") == ["Ann", "Bob"])
        #expect(try texts(container, "Book", "title") == ["by Ann", "by Bob"])
    }

    @Test("MIG-1: an open store is not migrated, and a process with the old model receives a clear error")
    func openStoresAreNotMigrated() throws {
        let schema = try filledSchema()
        let old = try open(schema, Self.first())
        #expect(try texts(old, "Author", "name").count == 2)
        func code(_ error: HornbeamError?) -> String { error.map { "\($0.code.rawValue) \($0.details.map(\.code.rawValue))" } ?? "" }
        let busy = hornbeamError { _ = try open(schema, Self.second()) }
        #expect(code(busy).contains("\(HornbeamError.Code.storeInUse.rawValue)"), "\(code(busy))")
        let refused = hornbeamError { _ = try open(schema, Self.second(), migrates: false) }
        #expect(code(refused).contains("\(HornbeamError.Code.modelMismatch.rawValue)"))
        try old.close()
        let new = try open(schema, Self.second())
        let late = hornbeamError { _ = try open(schema, Self.first()) }
        #expect(code(late).contains("\(HornbeamError.Code.modelMismatch.rawValue)"), "\(code(late))")
        #expect(try texts(new, "Author", "fullName").count == 2)
    }

    @Test("MIG-1: processes that migrate at the same time migrate once")
    func concurrentMigrations() async throws {
        let schema = try filledSchema()
        let model = try Self.second()
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0 ..< 3 {
                group.addTask {
                    let container = try open(schema, model)
                    return try container.newContext().count(FetchRequest<ManagedObject>(entityName: "Author"))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts == [2, 2, 2])
    }

    /// The column and its values were dropped with the old table.
    @Test("a migration is refused while tables have columns that others have added, and keeps their values", arguments: ["Author", "Book.tags"])
    func addedColumns(table: String) throws {
        let schema = try filledSchema()
        try PostgresServer.sql("ALTER TABLE \"\(schema)\".\"\(table)\" ADD COLUMN \"a note\" text DEFAULT 'kept'")
        let error = hornbeamError { _ = try open(schema, Self.second()) }
        #expect(error?.code == .unsupportedRequest && error?.message.contains("a note") == true, "\(error?.message ?? "")")
        if table == "Author" { #expect(try PostgresServer.sql("SELECT DISTINCT \"a note\" FROM \"\(schema)\".\"Author\"") == "kept") }
        try open(schema, Self.first(), migrates: false).close()
        try PostgresServer.sql("ALTER TABLE \"\(schema)\".\"\(table)\" DROP COLUMN \"a note\"")
        try open(schema, Self.second()).close()
    }
}
#endif
