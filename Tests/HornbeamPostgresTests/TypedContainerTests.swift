#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// Typed classes over the database `shop` of the server.
@Suite(.enabled(if: PostgresServer.isThere)) struct TypedContainerTests {
    @Entity final class Author: ManagedObject {
        @Attribute(.unique) var name: String
        @Relationship(inverse: \Book.author) var books: Set<Book>
    }

    @Entity final class Book: ManagedObject {
        var title: String
        var year: Int
        var author: Author?
    }

    @Test func typedObjectsAreStoredOnTheServer() async throws {
        // snippet
        let shop = try await PersistentContainer.open(.postgres("postgresql:///shop"), for: Author.self, Book.self)
        // end
        try await shop.performBackgroundTask { context in
            let author = Author(in: context, name: "Ada")
            for year in 1840 ..< 1845 { _ = Book(in: context, title: "Notes \(year)", year: year, author: author) }
            try context.save()
        }
        let other = try await PersistentContainer.open(.postgres("postgresql:///shop"), for: Author.self, Book.self)
        let context = other.newContext()
        let books = try context.fetch(FetchRequest<Book>().where { $0.year > 1842 && $0.author.name == "Ada" }.sorted(by: \.title))
        #expect(books.map(\.title) == ["Notes 1843", "Notes 1844"])
        let totals = try context.fetch(Book.select(\.count, \.year.max))
        #expect(totals.first?.0 == 5 && totals.first?.1 == 1844)
        #expect(books.first?.author?.books.count == 5)
        try other.close()
        try shop.close()
    }
}
#endif
