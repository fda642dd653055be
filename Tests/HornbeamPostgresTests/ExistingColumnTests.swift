#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Keys, references and times in the columns of existing tables.
@Suite(.enabled(if: PostgresServer.isThere)) struct ExistingColumnTests {
    /// Makes the tables.
    private let existing = ExistingTableTests()

    @Test(
        "a model that names a column or a table twice is refused",
        arguments: [
            ("Book", "authorID", "author_id", "another property"), ("Book", "number", "id", "the key"), ("Other", "title", "title", "two entities"),
        ])
    func tablesAndColumnsAreMappedOnce(entity: String, attribute: String, column: String, message: String) throws {
        var definition = try ExistingTableTests.model().entities.map(\.definition)
        let books = try #require(definition.firstIndex { $0.name == "Book" })
        var added = AttributeDescription(attribute, .integer64, optional: true)
        added.userInfo["postgres.column"] = column
        if entity == "Book" {
            definition[books].attributes.append(added)
        } else {
            var other = Entity(entity, attributes: [added], relationships: [])
            other.userInfo["postgres.table"] = "books"
            definition.append(other)
        }
        let model = try ManagedObjectModel(entities: definition)
        let error = hornbeamError { _ = try PostgresServer.container(existing.schema(), model) }
        #expect(error?.code == .modelMismatch && error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test("an object equals no object of another table with the same key")
    func referencesOfOtherTables() throws {
        let schema = try existing.schema()
        let container = try PostgresServer.container(schema, ExistingTableTests.model())
        let context = container.newContext()
        let bob = try #require(existing.objects(context, "Author", "name == 'Bob'", by: "name").first)
        // Book 1 and tag 1; the other author is 1 too.
        let first = try #require(existing.objects(context, "Book", "title == 'First'", by: "title").first)
        let tag = try context.make("Tag", ["label": "one"])
        try context.save()
        func names(_ format: String, _ arguments: any PredicateArgument...) throws -> [PropertyValue] {
            let predicate = try FetchPredicate(format: format, arguments: arguments)
            let request = FetchRequest<ManagedObject>(entityName: "Author", predicate: predicate, sortedBy: [FetchSort("name")])
            return try container.newContext().fetch(request).map { try $0.value(forKey: "name") }
        }
        #expect(try names("SELF IN %@", [bob, first, tag]) == ["Bob"])
        #expect(try names("SELF == %@", first.objectID) == [])
        #expect(try names("ANY books == %@", tag.objectID) == [])
        #expect(try names("ANY books == %@", first.objectID) == ["Ann"])
        let delete = BatchDeleteRequest(entityName: "Author", predicate: try FetchPredicate(format: "SELF == %@", first.objectID))
        #expect(try container.newContext().execute(delete).count == 0)
        #expect(try existing.rows(schema, "SELECT count(*) FROM authors") == ["2"])
        try container.close()
    }

    @Test("a row of an existing table whose key is too large is reported, and no other row is changed")
    func largeKeys() throws {
        let far = "INSERT INTO books (id, title) OVERRIDING SYSTEM VALUE VALUES (1099511627777, 'Far');"
        let schema = try existing.schema(ExistingTableTests.tables + far)
        let container = try PostgresServer.container(schema, ExistingTableTests.model())
        let context = container.newContext()
        let error = hornbeamError {
            for book in try existing.objects(context, "Book", "title == 'Far'", by: "title") { try book.setValue("Moved", forKey: "title") }
            try context.save()
        }
        #expect(error?.code == .storeOperationFailed, "\(error?.message ?? "")")
        var update = BatchUpdateRequest(entityName: "Book", predicate: try FetchPredicate(format: "title == 'Far'"))
        update.set("title", to: "Moved")
        #expect(hornbeamError { _ = try container.newContext().execute(update) }?.code == .storeOperationFailed)
        #expect(try existing.rows(schema, "SELECT title FROM books WHERE id IN (1, 1099511627777) ORDER BY id") == ["First", "Far"])
        try PostgresServer.sql("SELECT setval(pg_get_serial_sequence('\"\(schema)\".books', 'id'), 1099511627780)")
        let saving = container.newContext()
        let refused = hornbeamError {
            try saving.insert(entityNamed: "Book").setValue("New", forKey: "title")
            try saving.save()
        }
        #expect(refused?.code == .storeOperationFailed, "\(refused?.message ?? "")")
        try container.close()
    }

    @Test("a reference that no row can have is reported", arguments: [-1, 0])
    func impossibleReferences(author: Int) throws {
        let schema = try existing.schema(
            ExistingTableTests.tables + "ALTER TABLE books DROP CONSTRAINT books_author_id_fkey; UPDATE books SET author_id = \(author) WHERE id = 3;")
        let container = try PostgresServer.container(schema, ExistingTableTests.model())
        let error = hornbeamError { _ = try existing.objects(container.newContext(), "Book", by: "title") }
        #expect(error?.code == .storeOperationFailed && error?.message.contains("author_id") == true, "\(error?.message ?? "")")
        try container.close()
    }

    @Test("a time without a time zone is UTC, whatever zone the session has")
    func timesWithoutTimeZone() throws {
        func model(_ type: String) throws -> ManagedObjectModel {
            try ManagedObjectModel {
                Entity("Event", userInfo: ["postgres.table": "events"]) {
                    Attribute("seen", .date, optional: true, unique: true).adding(userInfo: ["postgres.type": type])
                }
            }
        }
        let schema = try existing.schema("CREATE TABLE events (id bigserial PRIMARY KEY, seen timestamp UNIQUE, _version bigint NOT NULL DEFAULT 1);")
        #expect(hornbeamError { _ = try PostgresServer.container(schema, model("timestamptz")) }?.code == .modelMismatch)
        let description = PersistentStoreDescription.postgres(
            (PostgresServer.connection ?? "") + " options='-c TimeZone=UTC-9'", schema: schema, connectionsMax: 3)
        let container = try PostgresServer.container(description, model("timestamp"))
        let context = container.newContext()
        let time = { (seconds: Double) in PropertyValue.date(Date(timeIntervalSinceReferenceDate: seconds)) }
        let event = try context.make("Event", ["seen": time(1)])
        try context.save()
        #expect(try existing.rows(schema, "SELECT seen FROM events") == ["2001-01-01 00:00:01"])
        try event.setValue(time(2), forKey: "seen")
        try context.save()
        #expect(try existing.rows(schema, "SELECT seen FROM events") == ["2001-01-01 00:00:02"])
        try context.make("Event", ["seen": time(2)])
        #expect(hornbeamError { try context.save() }?.code == .constraintConflict)
        var update = BatchUpdateRequest(entityName: "Event")
        update.set("seen", to: time(3))
        #expect(try container.newContext().execute(update).count == 1)
        #expect(try existing.rows(schema, "SELECT seen FROM events") == ["2001-01-01 00:00:03"])
        try container.close()
    }

    @Test("times from 4713 BC to 294276 AD are written as they are read, and others are refused", arguments: ["timestamptz", "timestamp"])
    func distantTimes(type: String) throws {
        let model = try ManagedObjectModel {
            Entity("Event", userInfo: ["postgres.table": "events"]) {
                Attribute("seen", .date, optional: true).adding(userInfo: ["postgres.type": type])
            }
        }
        let schema = try existing.schema("CREATE TABLE events (id bigserial PRIMARY KEY, seen \(type), _version bigint NOT NULL DEFAULT 1);")
        let container = try PostgresServer.container(schema, model)
        let context = container.newContext()
        let (past, future) = (Date.distantPast.timeIntervalSinceReferenceDate, Date.distantFuture.timeIntervalSinceReferenceDate)
        let times: [TimeInterval] = [-210_000_000_000, past, -1, 0, future, 9e12]
        for time in times { try context.make("Event", ["seen": .date(Date(timeIntervalSinceReferenceDate: time))]) }
        try context.save()
        let found = try PostgresServer.container(schema, model).newContext().all("Event", by: "seen").map { try $0.value(forKey: "seen") }
        #expect(found == times.map { .date(Date(timeIntervalSinceReferenceDate: $0)) })
        for time in [-1e12, 1e13, 1e300] {
            let event = try context.make("Event", ["seen": .date(Date(timeIntervalSinceReferenceDate: time))])
            #expect(hornbeamError { try context.save() }?.code == .typeMismatch, "\(time)")
            context.delete(event)
        }
        #expect(try existing.rows(schema, "SELECT count(*) FROM events") == ["\(times.count)"])
        try container.close()
    }

    /// The quotation marks of such a name were part of a character, so that they were not removed.
    @Test("names of an existing table and its columns can begin with a mark that combines with a quotation mark")
    func combiningNames() throws {
        let mark = "\u{301}"
        let model = try ManagedObjectModel {
            Entity("Note", userInfo: ["postgres.table": "\(mark)notes", "postgres.key": "\(mark)id"]) {
                Attribute("code", .string, unique: true).adding(userInfo: ["postgres.column": "\(mark)code\"\(mark)"])
            }
        }
        let columns = "\"\(mark)id\" bigserial PRIMARY KEY, \"\(mark)code\"\"\(mark)\" text NOT NULL UNIQUE, _version bigint NOT NULL DEFAULT 1"
        let schema = try existing.schema("CREATE TABLE \"\(mark)notes\" (\(columns));")
        let container = try PostgresServer.container(schema, model)
        let context = container.newContext()
        try context.make("Note", ["code": "a"])
        try context.save()
        let other = try PostgresServer.container(schema, model).newContext()
        try other.make("Note", ["code": "a"])
        #expect(hornbeamError { try other.save() }?.code == .constraintConflict)
        #expect(try existing.rows(schema, "SELECT * FROM \"\(mark)notes\"") == ["1|a|1"])
        try container.close()
    }

    /// Comparisons by the server had other results than those here, and LIKE ended with an error.
    @Test("a column whose collation takes different texts for equal is refused")
    func equatingCollations() throws {
        let schema = try existing.schema(
            """
            CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
            CREATE TABLE notes (id bigserial PRIMARY KEY, text text COLLATE loose, _version bigint NOT NULL DEFAULT 1);
            """)
        let model = try ManagedObjectModel {
            Entity("Note", userInfo: ["postgres.table": "notes"]) { Attribute("text", .string, optional: true) }
        }
        let error = hornbeamError { _ = try PostgresServer.container(schema, model) }
        #expect(error?.code == .modelMismatch && error?.message.contains("nondeterministic collation") == true, "\(error?.message ?? "")")
        try PostgresServer.sql("ALTER TABLE \"\(schema)\".notes ALTER text TYPE text COLLATE \"und-x-icu\"")
        try PostgresServer.container(schema, model).close()
    }

    @Test("a column of versions is added again after it was dropped")
    func versionsAreAddedAgain() throws {
        let schema = try existing.schema("CREATE TABLE notes (id bigserial PRIMARY KEY, text text);")
        let model = try ManagedObjectModel {
            Entity("Note", userInfo: ["postgres.table": "notes"]) { Attribute("text", .string, optional: true) }
        }
        for _ in 0 ..< 2 {
            try PostgresServer.container(.postgres(PostgresServer.connection ?? "", schema: schema, altersExistingTables: true), model).close()
            // The function stays.
            try PostgresServer.sql("SET search_path TO \"\(schema)\"; DROP TRIGGER _hornbeam_version ON notes; ALTER TABLE notes DROP COLUMN _version")
        }
    }

    /// The bits of other numbers were read as those of the model's types, and references of other types as missing.
    @Test(
        "a column whose type was changed after the opening is reported",
        arguments: [
            ("height", "real"), ("height", "numeric"), ("seen", "real"), ("flag", "text"), ("code", "text"), ("amount", "numeric(9, 1)"),
            ("amount", "double precision"), ("height", "bigint"), ("next", "text"), ("next", "real"), ("_version", "double precision"),
        ])
    func changedTypes(column: String, type: String) throws {
        let schema = try existing.schema(
            """
            CREATE TABLE notes (id bigserial PRIMARY KEY, height double precision, seen double precision, flag boolean, code uuid, amount bigint,
                next bigint, title text, _version bigint NOT NULL DEFAULT 1);
            INSERT INTO notes (height, seen, flag, code, amount, next) VALUES (1.5, 2.5, TRUE, '00000000-0000-0000-0000-000000000001', 7, 1);
            """)
        let model = try ManagedObjectModel {
            Entity("Note", userInfo: ["postgres.table": "notes"]) {
                Attribute("height", .double, optional: true)
                Attribute("seen", .date, optional: true)
                Attribute("flag", .boolean, optional: true)
                Attribute("code", .uuid, optional: true)
                Attribute("amount", .integer64, optional: true)
                Attribute("title", .string, optional: true)
                ToOne("next", to: "Note")
            }
        }
        let container = try PostgresServer.container(schema, model)
        try PostgresServer.sql("ALTER TABLE \"\(schema)\".notes ALTER \"\(column)\" TYPE \(type) USING \"\(column)\"::\(type)")
        let error = hornbeamError { _ = try container.newContext().all("Note", by: "title") }
        #expect(error?.code == .storeOperationFailed, "\(error?.message ?? "")")
        try container.close()
    }

    @Test("texts of other programs with U+0001 are read as they are", arguments: ["\u{1}", "\u{1}A", "a\u{1}é", "\u{1}\u{3}\u{1}"])
    func controlCharacters(text: String) throws {
        let schema = try existing.schema("CREATE TABLE notes (id bigserial PRIMARY KEY, text text, _version bigint NOT NULL DEFAULT 1);")
        let digits = text.utf8.map { String(format: "%02x", $0) }.joined()
        try PostgresServer.sql("INSERT INTO \"\(schema)\".notes (text) VALUES (convert_from('\\x\(digits)', 'UTF8'))")
        let model = try ManagedObjectModel {
            Entity("Note", userInfo: ["postgres.table": "notes"]) { Attribute("text", .string, optional: true) }
        }
        let container = try PostgresServer.container(schema, model)
        #expect(try container.newContext().all("Note", by: "text").map { try $0.value(forKey: "text") } == [.string(text)])
        try container.close()
    }
}
#endif
