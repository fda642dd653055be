import Foundation
import Hornbeam
import Testing

/// The code of the article “Fetch objects”.
@Suite struct FetchingObjectsTests {
    @Entity final class Author: ManagedObject {
        @Attribute(.unique) var name: String
        var books: Set<Book>
    }

    @Entity final class Book: ManagedObject {
        var title: String
        var year: Int?
        var pages: Int = 0
        var author: Author?
    }

    private let container: PersistentContainer

    init() throws {
        container = try PersistentContainer.inMemory(for: Author.self, Book.self)
        try container.write { context in
            let shelley = Author(in: context, name: "Mary Shelley")
            Book(in: context, title: "Frankenstein", year: 1818, pages: 280, author: shelley)
            Book(in: context, title: "The Last Man", year: 1826, pages: 470, author: shelley)
            Book(in: context, title: "Dubliners", year: 1914, pages: 150, author: Author(in: context, name: "James Joyce"))
        }
    }

    @Test func conditionsAreTyped() throws {
        try container.read { context in
            // snippet
            let request = FetchRequest<Book>()
                .where { $0.year < 1900 && $0.author.name.contains("shelley", .caseInsensitive) }
                .sorted(by: \.year, .descending)
                .limit(20)
            let books = try context.fetch(request)
            // end
            #expect(books.map(\.title) == ["The Last Man", "Frankenstein"])
            // snippet
            let prolific = try context.fetch(FetchRequest<Author>().where { $0.books.count > 1 })
            let early = try context.fetch(FetchRequest<Author>().where { $0.books.contains { $0.year < 1850 && $0.pages > 300 } })
            // end
            #expect(prolific.map(\.name) == ["Mary Shelley"] && early == prolific)
        }
    }

    @Test func formatsAreForDynamicRequests() throws {
        try container.read { context in
            let text = "man"
            // snippet
            let found = try context.fetch(FetchRequest<Book>().where("title CONTAINS[cd] %@ AND author != nil", text))
            // end
            #expect(found.map(\.title) == ["The Last Man"])
            // snippet
            let joyce = try context.first(Author.self, where: Author.name, equals: "James Joyce")
            let count = try context.count(FetchRequest<Book>().where { $0.author == joyce })
            let hasOld = try context.exists(Book.self) { $0.year < 1820 }
            // end
            #expect(count == 1 && hasOld)
        }
    }

    @Test func selectionsGiveTuples() throws {
        try container.read { context in
            // snippet
            let rows = try context.fetch(Book.select(\.author.name, \.count, \.pages.sum).grouped(by: \.author.name).having { $0.count > 1 })
            for (author, books, pages) in rows { print(author ?? "unknown", books, pages) }
            // end
            #expect(rows.count == 1 && rows[0] == ("Mary Shelley", 2, 750))
        }
    }

    @Test func valuesAreReadWithoutObjects() throws {
        try container.read { context in
            // snippet
            let titles = try context.fetchLazily(FetchRequest<Book>().sorted(by: \.year, .descending)).map(\.title)
            // end
            #expect(titles == ["Dubliners", "The Last Man", "Frankenstein"])
        }
    }

    @Test func objectsAreVisitedOneAfterTheOther() throws {
        try container.read { context in
            // snippet
            var pages = 0
            try context.forEach(FetchRequest<Book>().where { $0.year < 1900 }) { pages += $0.pages }
            // end
            #expect(pages == 750)
        }
    }
}
