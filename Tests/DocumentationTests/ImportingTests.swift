import Foundation
import Hornbeam
import Testing

/// The code in `Docs/Importing.md`.
@Suite struct ImportingTests {
    // snippet
    @Entity final class Author: ManagedObject, UniquelyKeyed {
        @Attribute(.unique) var name: String
        var born: Int?
        var books: Set<Book>

        static var uniqueKey: Attribute<String> { name }
        override class var defaultOrder: [FetchSort] { [FetchSort(name)] }
    }

    @Entity final class Book: ManagedObject, UniquelyKeyed {
        @Attribute(.unique) var isbn: String
        var title: String = ""
        var year: Int?
        var added: Date?
        var note: String?
        var author: Author?

        static var uniqueKey: Attribute<String> { isbn }
    }
    // end

    private func context() throws -> ManagedObjectContext { try PersistentContainer.inMemory(for: Author.self, Book.self).newContext() }

    @Test func objectsAreFoundByKey() throws {
        let context = try context()
        let keys = ["a", "b", "c"]
        // snippet
        try context.insert(Book.self, key: "a") { $0.title = "Emma" }
        let known = try context.object(Book.self, key: "a")
        let book = try context.upsert(Book.self, key: "b") { $0.title = "Persuasion" }

        let found = try context.objects(Book.self, keys: keys)      // by key; what is missing is absent
        let all = try context.upsert(Book.self, keys: keys) { new in new.title = "unknown" }

        let authors = try context.fetch(Author.self) { $0 = $0.where { $0.born != nil }.inDefaultOrder().limit(10) }
        let isThere = try context.exists(Book.self) { $0.title == "Emma" }
        let number = try context.count(Book.self)
        try context.delete(Book.self) { $0.title == "unknown" }
        try context.deleteAll(Author.self)
        // end
        #expect(known?.title == "Emma" && book.isbn == "b" && found.count == 2 && all.count == 3)
        #expect(authors.isEmpty && isThere && number == 3)
    }

    @Test func rowsAreImported() throws {
        let context = try context()
        // snippet
        let rows: [ImportRow] = [
            ["isbn": "1", "title": "Emma", "author": ["name": "Jane Austen", "born": 1775]],
            ["isbn": "2", "title": "Persuasion", "author": "Jane Austen"],
        ]
        let books = ImportMapping(Book.self).object(Book.author, ImportMapping(Author.self))
        let report = try context.importRows(rows, with: books)
        print(report.inserted, report.updated, report.unchanged)        // 2 0 0
        // end
        #expect(report.inserted == 2 && report.relatedInserted == 1)
        let author = try #require(try context.object(Author.self, key: "Jane Austen"))
        // snippet
        let mapping = ImportMapping(Book.self, from: "id")
            .field(Book.year, from: "published.year", null: .keep)
            .field(Book.added, as: .date("dd.MM.yyyy"))
            .ignoring(Book.note)
        let owned = try author.importRows([["id": "3", "published": ["year": 1817]]], into: Author.books, with: mapping)
        // end
        #expect(owned.inserted == 1 && author.books.count == 3)
        // snippet
        let options = ImportOptions(
            onRefusal: .skip,
            cleaning: ImportCleaning(.matching(Book.year == nil), allows: { ids in ids.count < 100 }))
        let cleaned = try context.importRows(rows, with: books, options: options)
        for row in cleaned.refused { print(row.number, row.error) }
        // end
        #expect(cleaned.unchanged == 2 && cleaned.deleted == 0)
    }

    // snippet
    struct BookRow: Decodable, Sendable {
        struct Writer: Decodable, Sendable { var name: String }

        var id: String
        var title: String
        var writer: Writer?
    }
    // end

    @Test func filesAreImported() async throws {
        let folder = try TemporaryFolder()
        let url = folder.url.appending(path: "books.jsonl")
        try Data(#"{"id": "1", "title": "Emma", "writer": {"name": "Jane Austen"}}"#.utf8).write(to: url)
        let container = try PersistentContainer.inMemory(for: Author.self, Book.self)
        // snippet
        let mapping = ImportMapping(Book.self, key: Book.isbn, from: \BookRow.id)
            .field(Book.title, from: \.title)
            .object(Book.author, from: \.writer, ImportMapping(Author.self, key: Author.name, from: \BookRow.Writer.name))
        let report = try await container.importRows(
            from: .jsonLines(url, of: BookRow.self), with: mapping, options: ImportOptions(saving: .every(5000)))
        // end
        #expect(report.inserted == 1)
        #expect(try await container.read { try $0.object(Book.self, key: "1")?.author?.name } == "Jane Austen")
    }
}
