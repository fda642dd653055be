import Foundation
import Hornbeam
import Testing

/// Hornbeam's code in `Docs/ComingFromGRDB.md`.
@Suite struct ComingFromGRDBTests {
    // snippet
    @Entity final class Author: ManagedObject {
        @Attribute(.unique) var name: String
        @Relationship(deleteRule: .cascade) var books: Set<Book>
    }

    @Entity final class Book: ManagedObject {
        #Index<Book>([\.year])
        var title: String
        var year: Int?
        var author: Author?
    }
    // end

    private let container: PersistentContainer

    init() throws { container = try PersistentContainer.inMemory(for: Author.self, Book.self) }

    @Test func rowsAreWrittenAndRead() async throws {
        // snippet
        try await container.write { context in
            let author = Author(in: context, name: "Mary Shelley")
            Book(in: context, title: "Frankenstein", year: 1818, author: author)
        }
        // end
        // snippet
        let infos = try await container.read { context in
            let request = FetchRequest<Book>().where { $0.year < 1900 }.sorted(by: \.year, .descending).prefetching(\.author)
            return try context.fetch(request).map { (title: $0.title, author: $0.author?.name) }
        }
        // end
        #expect(infos.map(\.title) == ["Frankenstein"] && infos.map(\.author) == ["Mary Shelley"])
        try await container.read { context in
            // snippet
            let rows = try context.fetch(Author.select(\.name, \.books.count))
            for (name, books) in rows { print(name, books) }
            // end
            #expect(rows.count == 1 && rows[0] == ("Mary Shelley", 1))
        }
    }

    @Test func manyRowsAreChanged() throws {
        try container.write { context in
            for title in ["a", ""] { Book(in: context, title: title) }
        }
        let context = container.newContext()
        // snippet
        var update = BatchUpdateRequest(Book.self, predicate: Book.year == nil)
        update.set(Book.year, to: 1900)
        try context.execute(update)
        try context.execute(BatchDeleteRequest(Book.self, predicate: Book.title == ""))
        // end
        #expect(try context.fetch(FetchRequest<Book>()).map(\.year) == [1900])
    }

    @Test @MainActor func countIsObserved() async throws {
        let container = container
        // snippet
        let counts = Task { @MainActor in
            for try await count in container.viewContext.liveCount(of: FetchRequest<Book>()) {
                print(count)
                if count == 3 { break }
            }
        }
        // end
        for _ in 0..<3 {
            try await container.write { context in _ = Book(in: context, title: "Frankenstein") }
        }
        try await counts.value
    }
}
