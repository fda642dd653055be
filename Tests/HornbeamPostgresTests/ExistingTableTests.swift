#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Tables that were made by hand, with rows that psql has inserted.
@Suite(.enabled(if: PostgresServer.isThere)) struct ExistingTableTests {
    /// Authors with books in tables of their own, tags in a table that the store makes, and pairs in an existing join table.
    static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Author", userInfo: ["postgres.table": "authors", "postgres.key": "author_id", "postgres.version": "revision"]) {
                Attribute("name", .string, unique: true).adding(userInfo: ["postgres.column": "full name"])
                Attribute("born", .integer64, optional: true)
                Attribute("seen", .date, optional: true).adding(userInfo: ["postgres.column": "seen_at", "postgres.type": "timestamptz"])
                ToMany("books", to: "Book", inverse: "author", deleteRule: .cascade)
            }
            Entity("Book", userInfo: ["postgres.table": "books"]) {
                Attribute("title", .string)
                ToOne("author", to: "Author", inverse: "books").adding(userInfo: ["postgres.column": "author_id"])
                ToMany("genres", to: "Genre", inverse: "books").adding(
                    userInfo: ["postgres.table": "book_genres", "postgres.source": "book", "postgres.target": "genre"])
                ToMany("tags", to: "Tag", inverse: "books")
            }
            Entity("Genre", userInfo: ["postgres.table": "genres", "postgres.key": "id"]) {
                Attribute("label", .string)
                ToMany("books", to: "Book", inverse: "genres")
            }
            Entity("Tag") {
                Attribute("label", .string)
                ToMany("books", to: "Book", inverse: "tags")
                ToOne("author", to: "Author")
            }
        }
    }

    static let tables = """
        CREATE TABLE authors (author_id serial PRIMARY KEY, "full name" varchar(40) NOT NULL UNIQUE, born int, seen_at timestamptz,
            added timestamptz NOT NULL DEFAULT now(), revision int NOT NULL DEFAULT 1);
        CREATE TABLE books (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title text NOT NULL,
            author_id int REFERENCES authors, _version bigint NOT NULL DEFAULT 1);
        CREATE TABLE genres (id smallserial PRIMARY KEY, label text NOT NULL, _version bigint NOT NULL DEFAULT 1);
        CREATE TABLE book_genres (book bigint NOT NULL REFERENCES books, genre smallint NOT NULL REFERENCES genres, PRIMARY KEY (book, genre));
        INSERT INTO authors ("full name", born, seen_at) VALUES ('Ann', 1950, '2001-01-01 00:00:01.5+00'), ('Bob', NULL, NULL);
        INSERT INTO books (title, author_id) VALUES ('First', 1), ('Second', 1), ('Third', NULL);
        INSERT INTO genres (label) VALUES ('poems'), ('letters');
        INSERT INTO book_genres VALUES (1, 1), (1, 2), (2, 2);
        """

    /// A schema with tables and rows.
    func schema(_ sql: String = tables) throws -> String {
        let schema = PostgresServer.freshSchema()
        try PostgresServer.sql("CREATE SCHEMA \"\(schema)\"; SET search_path TO \"\(schema)\"; \(sql)")
        return schema
    }

    func rows(_ schema: String, _ sql: String) throws -> [String] {
        try PostgresServer.sql("SET search_path TO \"\(schema)\"; \(sql)").split(separator: "\n").map(String.init)
    }

    func objects(_ context: ManagedObjectContext, _ entity: String, _ format: String? = nil, by key: String) throws -> [ManagedObject] {
        try context.fetch(
            FetchRequest<ManagedObject>(entityName: entity, predicate: try format.map { try FetchPredicate(format: $0) }, sortedBy: [FetchSort(key)]))
    }

    @Test("rows that SQL has inserted are objects with their relationships")
    func rowsAreObjects() throws {
        let container = try PostgresServer.container(schema(), Self.model())
        let context = container.newContext()
        let authors = try objects(context, "Author", by: "name")
        #expect(try authors.map { try $0.value(forKey: "name") } == ["Ann", "Bob"])
        #expect(try authors.map { try $0.value(forKey: "born") } == [1950, .null])
        #expect(try authors[0].value(forKey: "seen") == .date(Date(timeIntervalSinceReferenceDate: 1.5)))
        let books = try objects(context, "Book", by: "title")
        #expect(Set(try authors[0].objectIDs(forRelationshipNamed: "books")) == Set(books[..<2].map(\.objectID)))
        #expect(try books[0].objectIDs(forRelationshipNamed: "genres").count == 2)
        let letters = try #require(try objects(context, "Genre", "label == 'letters'", by: "label").first)
        #expect(Set(try letters.objectIDs(forRelationshipNamed: "books")) == Set(books[..<2].map(\.objectID)))
        #expect(Set((authors + books + [letters]).map(\.objectID.reference)).count == 6, "Keys are unique over all tables.")
        for (format, titles) in [
            ("author.name == 'Ann'", ["First", "Second"]), ("ANY genres.label == 'poems'", ["First"]), ("author == nil", ["Third"]),
            ("author.seen < CAST(2, 'NSDate')", ["First", "Second"]), ("genres.@count == 1", ["Second"]),
        ] {
            #expect(try objects(context, "Book", format, by: "title").map { try $0.value(forKey: "title") } == titles.map { .string($0) }, "\(format)")
        }
        var byAuthor = FetchRequest<ManagedObject>(entityName: "Book", predicate: try FetchPredicate(format: "author == %@", authors[0].objectID))
        #expect(try container.newContext().count(byAuthor) == 2)
        byAuthor.predicate = try FetchPredicate(format: "SELF == %@", books[1].objectID)
        #expect(try container.newContext().fetch(byAuthor).map(\.objectID) == [books[1].objectID])
        try container.close()
    }

    @Test("objects are inserted, changed and deleted in existing tables, with foreign keys that are checked at once")
    func savesWriteRows() throws {
        let schema = try schema()
        let container = try PostgresServer.container(schema, Self.model())
        let context = container.newContext()
        let ann = try #require(try objects(context, "Author", "name == 'Ann'", by: "name").first)
        try ann.setValue(1951, forKey: "born")
        try ann.setValue(.date(Date(timeIntervalSinceReferenceDate: -86_399.75)), forKey: "seen")
        let cem = try context.insert(entityNamed: "Author")
        try cem.setValue("Cem", forKey: "name")
        let book = try context.insert(entityNamed: "Book")
        try book.setValue("Fourth", forKey: "title")
        try book.setValue(.objectID(cem.objectID), forKey: "author")
        let genre = try #require(try objects(context, "Genre", "label == 'poems'", by: "label").first)
        try book.setValue(.set([.objectID(genre.objectID)]), forKey: "genres")
        let tag = try context.insert(entityNamed: "Tag")
        try tag.setValue("new", forKey: "label")
        try tag.setValue(.set([.objectID(book.objectID)]), forKey: "books")
        try tag.setValue(.objectID(cem.objectID), forKey: "author")
        try context.save()
        #expect(
            try rows(schema, "SELECT author_id, \"full name\", born, seen_at AT TIME ZONE 'UTC', revision FROM authors ORDER BY 1") == [
                "1|Ann|1951|2000-12-31 00:00:00.25|2", "2|Bob|||1", "3|Cem|||1",
            ])
        #expect(try rows(schema, "SELECT id, title, author_id, _version FROM books ORDER BY 1").last == "4|Fourth|3|1")
        #expect(try rows(schema, "SELECT * FROM book_genres ORDER BY 1, 2") == ["1|1", "1|2", "2|2", "4|1"])
        #expect(try rows(schema, "SELECT count(*) FROM \"Book.tags\" j JOIN books ON books.id = j.source") == ["1"])
        context.delete(ann)
        try book.setValue(.set([]), forKey: "genres")
        context.delete(genre)
        try context.save()
        #expect(try rows(schema, "SELECT \"full name\" FROM authors ORDER BY 1") == ["Bob", "Cem"])
        #expect(try rows(schema, "SELECT title FROM books ORDER BY 1") == ["Fourth", "Third"])
        #expect(try rows(schema, "SELECT * FROM book_genres") == [])
        try container.close()
        let again = try PostgresServer.container(schema, Self.model())
        let read = try again.newContext().existingObject(with: tag.objectID)
        #expect(try read.objectIDs(forRelationshipNamed: "books") == [book.objectID])
        #expect(try read.objectIDs(forRelationshipNamed: "author") == [cem.objectID])
        try again.close()
    }

    @Test("two stores see each other's saves and conflicts in existing tables; history names their objects")
    func conflictsAndHistory() throws {
        let schema = try schema()
        let (a, b) = (try PostgresServer.container(schema, Self.model()), try PostgresServer.container(schema, Self.model()))
        let token = try a.history.currentToken()
        let (mine, theirs) = (a.newContext(), b.newContext())
        theirs.automaticallyMergesChangesFromParent = false
        let first = try #require(try objects(mine, "Author", "name == 'Ann'", by: "name").first)
        let second = try theirs.existingObject(with: first.objectID)
        try second.setValue(2, forKey: "born")
        try first.setValue(1, forKey: "born")
        try mine.save()
        #expect(hornbeamError { try theirs.save() }?.code == .mergeConflict)
        theirs.rollback()
        let twin = try theirs.insert(entityNamed: "Author")
        try twin.setValue("Ann", forKey: "name")
        let taken = hornbeamError { try theirs.save() }
        #expect(taken?.code == .constraintConflict)
        theirs.rollback()
        var update = BatchUpdateRequest(entityName: "Author", predicate: try FetchPredicate(format: "born == 1"))
        update.set("born", to: 5)
        try theirs.execute(update)
        #expect(try rows(schema, "SELECT born, revision FROM authors WHERE author_id = 1") == ["5|3"])
        let changes = try b.history.fetch(after: token).get().flatMap(\.changes)
        #expect(changes.map(\.objectID) == [first.objectID, first.objectID])
        #expect(changes.map(\.updatedProperties) == [["born"], ["born"]])
        try a.close()
        try b.close()
    }

    /// The holder was taken for an object of the save, so that merge policies did not apply.
    @Test("a taken unique value is a conflict with its holder, also if the save changes an object of another table with the same key")
    func holdersWithEqualKeys() throws {
        let schema = try schema()
        let container = try PostgresServer.container(schema, Self.model())
        let context = container.newContext()
        // Book 1; Ann is author 1.
        let book = try #require(try objects(context, "Book", "title == 'First'", by: "title").first)
        try book.setValue("Changed", forKey: "title")
        let twin = try context.insert(entityNamed: "Author")
        try twin.setValue("Ann", forKey: "name")
        try twin.setValue(1, forKey: "born")
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .constraintConflict && error?.message.contains("and the stored Author/p") == true, "\(error?.message ?? "")")
        context.mergePolicy = .mergeByPropertyObjectTrump
        try context.save()
        #expect(try rows(schema, "SELECT \"full name\", born FROM authors ORDER BY 1") == ["Ann|1", "Bob|"])
        #expect(try rows(schema, "SELECT title FROM books WHERE id = 1") == ["Changed"])
        try container.close()
    }

    @Test("a destroyed store leaves existing tables and their rows, and removes its own tables")
    func existingTablesAreNotDestroyed() throws {
        let schema = try schema()
        let description = PostgresServer.description(schema)
        let container = try PostgresServer.container(description, Self.model())
        try container.close()
        try container.persistentStoreCoordinator.destroyPersistentStore(description)
        #expect(try rows(schema, "SELECT count(*) FROM authors") == ["2"])
        #expect(try rows(schema, "SELECT count(*) FROM book_genres") == ["3"])
        let tables = try rows(schema, "SELECT tablename FROM pg_tables WHERE schemaname = '\(schema)' ORDER BY 1")
        #expect(tables == ["authors", "book_genres", "books", "genres"])
    }

    @Test("a destroyed store leaves an existing table whose name is like those of its own tables")
    func similarNamesAreNotDestroyed() throws {
        let model = try ManagedObjectModel {
            Entity("Note", userInfo: ["postgres.table": "_hornbeam_notes"]) { Attribute("text", .string, optional: true) }
        }
        let schema = try schema(
            """
            CREATE TABLE _hornbeam_notes (id bigserial PRIMARY KEY, text text, _version bigint NOT NULL DEFAULT 1);
            INSERT INTO _hornbeam_notes (text) VALUES ('kept');
            """)
        let description = PostgresServer.description(schema)
        let container = try PostgresServer.container(description, model)
        #expect(try objects(container.newContext(), "Note", by: "text").count == 1)
        try container.close()
        try container.persistentStoreCoordinator.destroyPersistentStore(description)
        #expect(try rows(schema, "SELECT text FROM _hornbeam_notes") == ["kept"])
        #expect(try rows(schema, "SELECT tablename FROM pg_tables WHERE schemaname = '\(schema)'") == ["_hornbeam_notes"])
    }

    @Test("changes of other programs count if a trigger counts versions; the store adds it only when asked")
    func versionsAreAdded() throws {
        let old = Self.tables.replacingOccurrences(of: ", _version bigint NOT NULL DEFAULT 1", with: "")
        let schema = try schema(old)
        let refused = hornbeamError { _ = try PostgresServer.container(schema, Self.model()) }
        #expect(
            refused.map { $0.details.isEmpty ? $0 : $0.details[0] }?.message.contains("ADD COLUMN \"_version\" bigint NOT NULL DEFAULT 1") == true, "\(String(describing: refused))")
        #expect(try rows(schema, "SELECT count(*) FROM pg_tables WHERE schemaname = '\(schema)'") == ["4"], "Nothing was created.")
        let container = try PostgresServer.container(
            .postgres(PostgresServer.connection ?? "", schema: schema, altersExistingTables: true), Self.model())
        let context = container.newContext()
        let book = try #require(try objects(context, "Book", "title == 'Third'", by: "title").first)
        #expect(try book.value(forKey: "title") == "Third")
        try PostgresServer.sql("UPDATE \"\(schema)\".books SET title = 'Changed' WHERE id = 3")
        #expect(try objects(container.newContext(), "Book", "author == nil", by: "title").map { try $0.value(forKey: "title") } == ["Changed"])
        #expect(try rows(schema, "SELECT _version FROM books WHERE id = 3") == ["2"])
        try container.close()
        try PostgresServer.container(schema, Self.model()).close()
    }

    @Test("a migration leaves existing tables and their rows as they are, and changes those of the store")
    func migrationsKeepExistingTables() throws {
        let schema = try schema()
        var container = try PostgresServer.container(schema, Self.model())
        let context = container.newContext()
        let tag = try context.insert(entityNamed: "Tag")
        try tag.setValue("kept", forKey: "label")
        let book = try #require(try objects(context, "Book", "title == 'First'", by: "title").first)
        try tag.setValue(.set([.objectID(book.objectID)]), forKey: "books")
        try context.save()
        try container.close()
        // The new version has a note of each book, and another name of tags' labels.
        var definition = try Self.model().entities.map(\.definition)
        let (books, tags) = (try #require(definition.firstIndex { $0.name == "Book" }), try #require(definition.firstIndex { $0.name == "Tag" }))
        definition[books].attributes.append(AttributeDescription("note", .string, optional: true))
        definition[tags].attributes[0] = AttributeDescription("text", .string, renamedFrom: "label")
        let second = try ManagedObjectModel(entities: definition)
        let migrating = PersistentStoreDescription.postgres(PostgresServer.connection ?? "", schema: schema, migrates: true)
        let missing = hornbeamError { _ = try PostgresServer.container(migrating, second) }
        #expect(missing.map { [$0] + $0.details }?.contains { $0.message.contains("has no column \"note\" for Book.note") } == true)
        try PostgresServer.sql("ALTER TABLE \"\(schema)\".books ADD COLUMN note text")
        container = try PostgresServer.container(migrating, second)
        let kept = try container.newContext().existingObject(with: tag.objectID)
        #expect(try kept.value(forKey: "text") == "kept")
        #expect(try kept.objectIDs(forRelationshipNamed: "books") == [book.objectID])
        #expect(try rows(schema, "SELECT id, title, author_id, _version, note FROM books ORDER BY 1").first == "1|First|1|1|")
        try container.close()
    }

    @Test(
        "a table that does not fit is refused with the difference, and nothing is created",
        arguments: [
            ("CREATE TABLE authors (author_id serial PRIMARY KEY, \"full name\" text NOT NULL UNIQUE, born int, revision int NOT NULL)",
             "has no column \"seen_at\" for Author.seen"),
            ("CREATE TABLE authors (author_id serial PRIMARY KEY, \"full name\" text NOT NULL UNIQUE, born text, seen_at timestamptz, revision int NOT NULL)",
             "has the type text. For Author.born it must be smallint or integer or bigint"),
            ("CREATE TABLE authors (author_id serial PRIMARY KEY, \"full name\" text NOT NULL UNIQUE, born int NOT NULL, seen_at timestamptz, revision int NOT NULL)",
             "is NOT NULL, and Author.born is optional"),
            ("CREATE TABLE authors (author_id serial PRIMARY KEY, \"full name\" text NOT NULL UNIQUE, born int, seen_at timestamptz, revision int NOT NULL, x int NOT NULL)",
             "The column \"x\" of"),
            ("CREATE TABLE authors (author_id serial PRIMARY KEY, \"full name\" text NOT NULL, born int, seen_at timestamptz, revision int NOT NULL)",
             "has no unique index over \"full name\""),
            ("CREATE TABLE authors (author_id int PRIMARY KEY, \"full name\" text NOT NULL UNIQUE, born int, seen_at timestamptz, revision int NOT NULL)",
             "has no sequence for new objects"),
            ("CREATE TABLE authors (author_id serial, \"full name\" text NOT NULL UNIQUE, born int, seen_at timestamptz, revision int)",
             "has no unique index, and is the key"),
            ("SELECT 1", "There is no table"),
        ])
    func differencesAreRefused(authors: String, message: String) throws {
        let others = Self.tables.split(separator: ";").filter { $0.contains("CREATE TABLE") && !$0.contains("TABLE authors") }
        let schema = try schema(([authors] + others.map { $0.replacingOccurrences(of: " REFERENCES authors", with: "") }).joined(separator: ";"))
        let count = try rows(schema, "SELECT count(*) FROM pg_class WHERE relnamespace = '\"\(schema)\"'::regnamespace")
        let error = try #require(hornbeamError { _ = try PostgresServer.container(schema, Self.model()) })
        let all = [error] + error.details + error.details.flatMap(\.details)
        #expect(all.contains { $0.code == .modelMismatch && $0.message.contains(message) }, "\(all.map(\.message))")
        #expect(try rows(schema, "SELECT count(*) FROM pg_class WHERE relnamespace = '\"\(schema)\"'::regnamespace") == count)
    }
}
#endif
