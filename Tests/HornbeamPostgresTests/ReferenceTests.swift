#if Postgres
import Foundation
import Hornbeam
import HornbeamConformance
import HornbeamModel
import HornbeamPostgres
import Testing

/// References, unique values, orders and derived attributes when several processes save.
@Suite(.enabled(if: PostgresServer.isThere)) struct ReferenceTests {
    private func names(_ container: PersistentContainer, _ entity: String, _ key: String) throws -> [PropertyValue] {
        try container.newContext().all(entity, by: key).map { try $0.value(forKey: key) }
    }

    @Test("a save that refers to an object which was deleted meanwhile is refused with this object")
    func references() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let context = container.newContext()
        let author = try context.make("Author", ["name": "a"])
        try context.save()
        // Without an announcement, so that the context learns it from the save.
        try PostgresServer.run("DELETE FROM \"\(schema)\".\"Author\"")
        let book = try context.make("Book", ["title": "b"])
        try book.setValue(author, forKey: "author")
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .objectNotFound, "\(error?.message ?? "")")
        #expect(error?.objectIDs == [author.objectID])
        #expect(try PostgresServer.run("SELECT count(*) FROM \"\(schema)\".\"Work\"") == "0")
        try book.setValue(.null, forKey: "author")
        try context.save()
        #expect(try names(container, "Book", "title") == ["b"])
    }

    @Test("a deletion is refused while an unknown object refers to the deleted one")
    func deletions() throws {
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema)
        let context = container.newContext()
        let author = try context.make("Author", ["name": "a"])
        try context.make("Book", ["title": "mine"]).setValue(author, forKey: "author")
        try context.save()
        let key = try PostgresServer.run("SELECT _id FROM \"\(schema)\".\"Author\"")
        context.delete(author)
        try PostgresServer.run(
            "INSERT INTO \"\(schema)\".\"Work\" (_id, _entity, _version, title, author) VALUES (100000, 'Book', 1, 'other', \(key))")
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .mergeConflict, "\(error?.message ?? "")")
        #expect(error?.objectIDs.count == 1)
        #expect(try names(container, "Author", "name") == ["a"])
        context.rollback()
        context.delete(try #require(context.all("Author", by: "name").first))
        try context.save()
        #expect(try names(container, "Author", "name").isEmpty)
        #expect(try names(container, "Book", "title").isEmpty, "The delete rule is cascade.")
    }

    @Test("conflicts of objects of several tables are found in one save")
    func conflictsOfSeveralTables() throws {
        let schema = PostgresServer.freshSchema()
        let (first, second) = (try PostgresServer.container(schema), try PostgresServer.container(schema))
        let context = first.newContext()
        let objects = [try context.make("Author", ["name": "a"]), try context.make("Book", ["title": "a"]), try context.make("Tag", ["label": "a"])]
        try context.save()
        // Without an announcement, so that the save finds the conflicts.
        for (table, column) in [("Author", "name"), ("Work", "title"), ("Tag", "label")] {
            try PostgresServer.run("UPDATE \"\(schema)\".\"\(table)\" SET \(column) = 'other', _version = _version + 1")
        }
        for (object, key) in zip(objects, ["name", "title", "label"]) { try object.setValue("b", forKey: key) }
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .mergeConflict, "\(error?.message ?? "")")
        context.mergePolicy = .mergeByPropertyObjectTrump
        try context.save()
        #expect(try names(second, "Author", "name") == ["b"])
    }

    @Test("saves that refer to an object and saves that delete it leave no reference to nothing", .timeLimit(.minutes(20)))
    func racingDeletions() async throws {
        let schema = PostgresServer.freshSchema()
        let (first, second) = (try PostgresServer.container(schema), try PostgresServer.container(schema))
        for round in 0 ..< 20 {
            let setUp = first.newContext()
            let author = try setUp.make("Author", ["name": .string("a \(round)")])
            try setUp.save()
            let id = author.objectID
            let inserted = Task { try await first.performBackgroundTask { context in
                let book = try context.make("Book", ["title": .string("b \(round)")])
                try book.setValue(.objectID(id), forKey: "author")
                try context.save()
            } }
            let deleted = Task { try await second.performBackgroundTask { context in
                context.delete(try #require(context.all("Author", by: "name", "name == 'a \(round)'").first))
                try context.save()
            } }
            let results = [await inserted.result, await deleted.result]
            for case .failure(let error) in results {
                let code = (error as? HornbeamError)?.code
                #expect(code == .objectNotFound || code == .mergeConflict, "\(error)")
            }
            let lost = try PostgresServer.run(
                """
                SELECT count(*) FROM "\(schema)"."Work" w WHERE author IS NOT NULL
                AND NOT EXISTS (SELECT FROM "\(schema)"."Author" a WHERE a._id = w.author)
                """)
            #expect(lost == "0", "round \(round): \(results)")
        }
    }

    private static func inheriting() throws -> ManagedObjectModel {
        var song = Entity("Song", parent: "Work") {}
        song.uniquenessConstraints = [["title"]]
        return try ManagedObjectModel(entities: [Entity("Work") { Attribute("title", .string) }, song])
    }

    @Test("objects of a subentity exchange unique values that it inherits, and its superentity may repeat them")
    func inheritedUniqueValues() throws {
        let schema = PostgresServer.freshSchema()
        let (container, other) = (try PostgresServer.container(schema, Self.inheriting()), try PostgresServer.container(schema, Self.inheriting()))
        let context = container.newContext()
        let songs = try ["a", "b"].map { try context.make("Song", ["title": .string($0)]) }
        for _ in 0 ..< 2 { try context.make("Work", ["title": "a"]) }
        try context.save()
        try songs[0].setValue("b", forKey: "title")
        try songs[1].setValue("a", forKey: "title")
        try context.save()
        #expect(try names(other, "Song", "title") == ["a", "b"])
        let late = other.newContext()
        try late.make("Song", ["title": "c"])
        try late.save()
        try PostgresServer.run(
            "INSERT INTO \"\(schema)\".\"Work\" (_id, _entity, _version, title) VALUES (100000, 'Song', 1, 'd')")
        try context.make("Song", ["title": "d"])
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .constraintConflict, "\(error?.message ?? "")")
        #expect(error?.message.contains("100000") == true, "\(error?.message ?? "")")
    }

    @Test("of two saves that order a relationship, the last one wins")
    func orders() throws {
        let schema = PostgresServer.freshSchema()
        let containers = [try PostgresServer.container(schema), try PostgresServer.container(schema)]
        let context = containers[0].newContext()
        let shelf = try context.make("Shelf", ["place": "here"])
        let books = try ["a", "b", "c"].map { try context.make("Book", ["title": .string($0)]) }
        try shelf.changeObjects(forKey: "books") { $0.append(contentsOf: books) }
        try context.save()
        let others = containers.map { $0.newContext() }
        let shelves = try others.map { try #require($0.all("Shelf", by: "place").first) }
        for shelf in shelves { #expect(try shelf.objects(forKey: "books").count == 3) }
        for (shelf, order) in zip(shelves, ["cba", "bca"]) {
            try shelf.changeObjects(forKey: "books") { books in
                let sorted = order.compactMap { letter in books.first { Self.letter($0) == letter } }
                books.removeAll()
                books.append(contentsOf: sorted)
            }
        }
        for context in others { try context.save() }
        let reader = try PostgresServer.container(schema).newContext()
        let found = try #require(reader.all("Shelf", by: "place").first).objects(forKey: "books")
        #expect(String(found.map(Self.letter)) == "bca")
    }

    private static func letter(_ book: ManagedObject) -> Character {
        ((try? book.value(forKey: "title"))?.stringValue?.first) ?? "?"
    }

    private static func derived() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Author") {
                Attribute("name", .string)
                Attribute("count", .integer64, optional: true, derivation: "books.@count")
                Attribute("pages", .integer64, optional: true, derivation: "books.pages.@sum")
                ToMany("books", to: "Book", inverse: "author", deleteRule: .cascade)
            }
            Entity("Book") {
                Attribute("title", .string)
                Attribute("pages", .integer64)
                Attribute("by", .string, optional: true, derivation: "author.name")
                ToOne("author", to: "Author", inverse: "books")
            }
        }
    }

    @Test("derived attributes are computed from all members, also from those that were not read")
    func derivedAttributes() async throws {
        let schema = PostgresServer.freshSchema()
        let (first, second) = (try PostgresServer.container(schema, Self.derived()), try PostgresServer.container(schema, Self.derived()))
        let context = first.newContext()
        let author = try context.make("Author", ["name": "a"])
        for number in 1 ... 3 { try context.make("Book", ["title": .string("\(number)"), "pages": .int(Int64(number))]).setValue(author, forKey: "author") }
        try context.save()
        #expect(try [author.value(forKey: "count"), author.value(forKey: "pages")] == [3, 6])
        let other = second.newContext()
        let same = try #require(other.all("Author", by: "name").first)
        #expect(try [same.value(forKey: "count"), same.value(forKey: "pages")] == [3, 6])
        try other.make("Book", ["title": "4", "pages": 4]).setValue(same, forKey: "author")
        try other.save()
        #expect(try [same.value(forKey: "count"), same.value(forKey: "pages")] == [4, 10])
        for _ in 0 ..< 500 where try author.value(forKey: "count") != 4 {
            try await Task.sleep(for: .milliseconds(10))
            try context.mergeChanges()
        }
        #expect(try [author.value(forKey: "count"), author.value(forKey: "pages")] == [4, 10])
        let third = try PostgresServer.container(schema, Self.derived())
        #expect(try third.newContext().all("Book", by: "title", "title == '4'").map { try $0.value(forKey: "by") } == ["a"])
        #expect(try third.newContext().all("Author", by: "name", "count == 4 AND pages == 10").count == 1)
    }

    /// The table had two columns with the same name.
    @Test("subentities with ordered relationships of the same name keep the order of each")
    func ordersOfSubentities() throws {
        let model = try ManagedObjectModel {
            Entity("Shape", abstract: true) { Attribute("name", .string) }
            Entity("Circle", parent: "Shape") { OrderedToMany("parts", to: "Part", inverse: "circle") }
            Entity("Square", parent: "Shape") { OrderedToMany("parts", to: "Part", inverse: "square") }
            Entity("Part") {
                Attribute("number", .integer64)
                ToOne("circle", to: "Circle", inverse: "parts")
                ToOne("square", to: "Square", inverse: "parts")
            }
        }
        let schema = PostgresServer.freshSchema()
        let container = try PostgresServer.container(schema, model)
        let context = container.newContext()
        for (entity, numbers) in [("Circle", [3, 1, 2]), ("Square", [5, 6, 4])] as [(String, [Int64])] {
            let shape = try context.make(entity, ["name": .string(entity)])
            for number in numbers {
                let part = try context.make("Part", ["number": .int(number)])
                try shape.changeObjects(forKey: "parts") { $0.append(part) }
            }
        }
        try context.save()
        let reader = try PostgresServer.container(schema, model)
        let reading = reader.newContext()
        for (entity, numbers) in [("Circle", [3, 1, 2]), ("Square", [5, 6, 4])] as [(String, [Int64])] {
            let shape = try #require(reading.all(entity, by: "name").first)
            #expect(try shape.objects(forKey: "parts").map { try $0.value(forKey: "number") } == numbers.map { .int($0) }, "\(entity)")
        }
        for container in [container, reader] { try container.close() }
    }

    @Test("an ordered relationship whose column for the order would have a longer name than PostgreSQL keeps is refused")
    func longNamesOfOrders() throws {
        let name = String(repeating: "n", count: 60)
        let model = try ManagedObjectModel {
            Entity("A") { OrderedToMany(name, to: "B", inverse: "a") }
            Entity("B") { ToOne("a", to: "A", inverse: name) }
        }
        let error = hornbeamError { _ = try PostgresServer.container(PostgresServer.freshSchema(), model) }
        #expect(error?.code == .modelMismatch && error?.message.contains(name) == true, "\(error?.message ?? "")")
    }
}
#endif
