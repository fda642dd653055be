import Foundation
import Hornbeam
import Testing

/// Hornbeam's code in `Docs/ComingFromCoreData.md`.
@Suite @MainActor struct ComingFromCoreDataTests {
    private func open(_ url: URL) throws -> PersistentContainer {
        let model = try ManagedObjectModel(for: Author.self, Book.self)
        // snippet
        let container = try PersistentContainer(name: "Library", model: model, classes: [Author.self, Book.self])
        container.persistentStoreDescriptions = [PersistentStoreDescription(url: url)]
        try container.loadPersistentStores()
        // end
        return container
    }

    // snippet
    @Entity final class Author: ManagedObject {
        @Attribute(minimumLength: 1) var name: String
        var books: Set<Book>
    }

    @Entity final class Book: ManagedObject {
        @Attribute(minimumLength: 1) var title: String
        var year: Int32
        var author: Author?
    }
    // end

    @Test func storeIsFilledAndQueried() async throws {
        let folder = try TemporaryFolder()
        let container = try open(folder.url.appending(path: "Library.hornbeam"))
        // snippet
        try await container.performBackgroundTask { context in
            let author = Author(in: context, name: "Mary Shelley")
            Book(in: context, title: "Frankenstein", year: 1818, author: author)
            try context.save()
        }
        // end
        let context = container.viewContext
        let formatted = try {
            // snippet
            let request = try FetchRequest<Book>()
                .where("year < %d AND author.name CONTAINS[cd] %@", 1900, "shelley")
                .sorted(by: "year", ascending: false)
                .limit(20)
            let books = try context.fetch(request)
            // end
            return books.map(\.objectID)
        }()
        // snippet
        let books = try context.fetch(
            FetchRequest<Book>()
                .where { $0.year < 1900 && $0.author.name.contains("shelley", [.caseInsensitive, .diacriticInsensitive]) }
                .sorted(by: \.year, .descending)
                .limit(20))
        // end
        #expect(books.map(\.title) == ["Frankenstein"] && books.map(\.objectID) == formatted)
        // snippet
        let rows = try context.fetch(Book.select(\.author.name, \.count).grouped(by: \.author.name))
        for (author, count) in rows { print(author ?? "", count) }
        // end
        #expect(rows.count == 1 && rows[0] == ("Mary Shelley", 1))
        try container.close()
    }

    @Test func saveReportsAllViolations() throws {
        let container = try PersistentContainer.inMemory(for: Author.self, Book.self)
        let context = container.viewContext
        Author(in: context, name: "")
        Book(in: context, title: "", year: 1)
        // snippet
        do {
            try context.save()
        } catch let error as HornbeamError where error.code == .multipleErrors {
            for detail in error.details { print(detail.message) }
        }
        // end
        let error = #expect(throws: HornbeamError.self) { try context.save() }
        #expect(error?.code == .multipleErrors && error?.details.count == 2)
    }
}
