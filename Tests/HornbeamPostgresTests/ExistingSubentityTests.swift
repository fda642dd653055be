#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Existing tables with the rows of several entities.
@Suite(.enabled(if: PostgresServer.isThere)) struct ExistingSubentityTests {
    /// Books and songs whose sizes and codes are in the same columns.
    private static func model(songAuthorColumn: String? = nil) throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Author", userInfo: ["postgres.table": "authors"]) {
                Attribute("name", .string)
                ToMany("works", to: "Work", inverse: "author")
                if songAuthorColumn != nil { ToMany("sung", to: "Song", inverse: "singer") }
            }
            Entity("Work", abstract: true, userInfo: ["postgres.table": "works", "postgres.entity": "kind"]) {
                Attribute("title", .string)
                ToOne("author", to: "Author", inverse: "works").adding(userInfo: ["postgres.column": "author_id"])
            }
            Entity("Book", parent: "Work") {
                Attribute("pages", .integer32, optional: true).adding(userInfo: ["postgres.column": "size"])
                Attribute("code", .string, optional: true)
            }
            Entity("Song", parent: "Work") {
                Attribute("seconds", .integer64, optional: true).adding(userInfo: ["postgres.column": "size"])
                Attribute("key", .string, optional: true).adding(userInfo: ["postgres.column": "code"])
                if let songAuthorColumn { ToOne("singer", to: "Author", inverse: "sung").adding(userInfo: ["postgres.column": songAuthorColumn]) }
            }
        }
    }

    private static let tables = """
        CREATE TABLE authors (id bigserial PRIMARY KEY, name text NOT NULL, _version bigint NOT NULL DEFAULT 1);
        CREATE TABLE works (id bigserial PRIMARY KEY, kind text NOT NULL, title text NOT NULL, author_id bigint REFERENCES authors, size int, code text,
            singer_id bigint REFERENCES authors, _version bigint NOT NULL DEFAULT 1);
        INSERT INTO authors (name) VALUES ('Ann');
        INSERT INTO works (kind, title, author_id, size, code) VALUES ('Book', 'First', 1, 100, 'b'), ('Song', 'Second', 1, 200, 's');
        """

    private func schema() throws -> String {
        let schema = PostgresServer.freshSchema()
        try PostgresServer.sql("CREATE SCHEMA \"\(schema)\"; SET search_path TO \"\(schema)\"; \(Self.tables)")
        return schema
    }

    private func rows(_ schema: String) throws -> [String] {
        try PostgresServer.sql("SELECT kind, title, size, code, _version FROM \"\(schema)\".works ORDER BY title").split(separator: "\n").map(String.init)
    }

    @Test("attributes of different subentities can share a column, which has the value of each row's own entity")
    func sharedColumns() throws {
        let schema = try schema()
        let container = try PostgresServer.container(schema, Self.model())
        let context = container.newContext()
        let works = try context.all("Work", by: "title")
        #expect(works.map(\.objectID.entityName) == ["Book", "Song"])
        let (first, second) = (works[0], works[1])
        #expect(try first.value(forKey: "pages") == 100 && first.value(forKey: "code") == "b")
        #expect(try second.value(forKey: "seconds") == 200 && second.value(forKey: "key") == "s")
        // In one save, so in one statement.
        try first.setValue(101, forKey: "pages")
        try second.setValue(201, forKey: "seconds")
        try context.make("Book", ["title": "Third", "pages": 300])
        try context.make("Song", ["title": "Fourth", "key": "k"])
        try context.save()
        #expect(try rows(schema) == ["Book|First|101|b|2", "Song|Fourth||k|1", "Song|Second|201|s|2", "Book|Third|300||1"])
        let reader = container.newContext()
        for (entity, format, titles) in [
            ("Book", "pages > 100", ["First", "Third"]), ("Song", "seconds > 100", ["Second"]), ("Book", "pages == 201", []), ("Song", "key == 'b'", []),
            ("Work", "author.name == 'Ann'", ["First", "Second"]),
        ] {
            #expect(try reader.all(entity, by: "title", format).map { try $0.value(forKey: "title") } == titles.map { .string($0) }, "\(format)")
        }
        var update = BatchUpdateRequest(entityName: "Book")
        update.set("pages", to: 1)
        #expect(try container.newContext().execute(update).count == 2)
        try second.setValue(.null, forKey: "seconds")
        try context.save()
        #expect(try rows(schema) == ["Book|First|1|b|3", "Song|Fourth||k|1", "Song|Second||s|3", "Book|Third|1||2"])
        try container.close()
    }

    @Test("the column of a to-one relationship belongs to one relationship")
    func sharedRelationships() throws {
        let schema = try schema()
        let error = hornbeamError { _ = try PostgresServer.container(schema, Self.model(songAuthorColumn: "author_id")) }
        #expect(error?.code == .modelMismatch && error?.message.contains("author_id") == true, "\(error?.message ?? "")")
        let attribute = hornbeamError { _ = try PostgresServer.container(schema, Self.model(songAuthorColumn: "size")) }
        #expect(attribute?.code == .modelMismatch, "\(attribute?.message ?? "")")
        try PostgresServer.container(schema, Self.model(songAuthorColumn: "singer_id")).close()
    }
}
#endif
