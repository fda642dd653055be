import Foundation
import Hornbeam
import Testing

/// The code of the article “Open a store”.
@Suite struct OpeningStoresTests {
    @Entity final class Author: ManagedObject {
        var name: String
        var books: Set<Book>
    }

    @Entity final class Book: ManagedObject {
        var title: String
        var author: Author?
    }

    @Test func storesAreMadeAndOpened() throws {
        let folder = try TemporaryFolder()
        let url = folder.url.appending(path: "Library.hornbeam")
        func useDisk() throws {
            // snippet
            let library = try PersistentContainer.open(at: url, for: Author.self, Book.self)
            try library.write { context in _ = Author(in: context, name: "Mary Shelley") }
            try library.close()
            // end
        }
        func useMemory() throws -> Int {
            // snippet
            let cache = try PersistentContainer.inMemory(for: Author.self, Book.self)
            // end
            return try cache.read { try $0.count(FetchRequest<Author>()) }
        }
        try useDisk()
        #expect(try useMemory() == 0)
        // snippet
        var description = PersistentStoreDescription(url: url)
        description.durability = .lazy(maxDelay: .milliseconds(200))
        description.history = nil

        let model = try ManagedObjectModel(for: Author.self, Book.self)
        let library = try PersistentContainer(name: "Library", model: model, classes: [Author.self, Book.self])
        library.persistentStoreDescriptions = [description]
        try library.loadPersistentStores()
        // end
        #expect(try library.read { try $0.fetch(FetchRequest<Author>()).map(\.name) } == ["Mary Shelley"])
        try library.close()
    }

    @Test func storesAreOpenedInTheBackground() async throws {
        let folder = try TemporaryFolder()
        let url = folder.url.appending(path: "Library.hornbeam")
        // snippet
        let monitor = MigrationMonitor()
        let progress = Task { for await step in monitor.steps { print(step.part, step.fraction) } }
        let library = try await PersistentContainer.open(at: url, for: Author.self, Book.self, migration: monitor)
        // end
        await progress.value
        #expect(try await library.read { try $0.count(FetchRequest<Author>()) } == 0)
        try library.close()
    }
}
