import Foundation
import Hornbeam
import Testing

/// The code in `Docs/DataStack.md`.
@Suite @MainActor struct DataStackPageTests {
    @Entity final class Author: ManagedObject {
        @Attribute(.unique) var name: String
        var books: Set<Book>
    }

    @Entity final class Book: ManagedObject {
        @Attribute(.unique) var isbn: String
        var title: String = ""
        var year: Int = 0
        var author: Author?
    }

    // snippet
    final class LibraryController: DataStackSettable {
        var dataStack: DataStack?
    }
    // end

    @Test func theStackIsUsed() async throws {
        let folder = try TemporaryFolder()
        let url = folder.url.appending(path: "Library.hornbeam")
        // snippet
        let stack = DataStack(name: "Library", for: Author.self, Book.self)
        try stack.configure { $0.persistentStoreDescriptions = [PersistentStoreDescription(url: url)] }
        // end
        // snippet
        let book = Book(in: try stack.mainContext, isbn: "1")
        try stack.saveMainContext()

        try await stack.backgroundContext.perform { context in
            for book in try context.fetch(Book.self) { book.title = "Emma" }
        }
        try await stack.saveBackgroundContext()
        // end
        let merged = try await stack.transaction { try $0.count(Book.self) }
        #expect(merged == 1 && book.title == "Emma")
        // snippet
        let transaction = try stack.beginTransaction()
        _ = Book(in: transaction.context, isbn: "2", title: "Persuasion")
        try transaction.end()       // or drop()

        let count = try await stack.transaction { context in
            try context.delete(Book.self) { $0.title == "Emma" }
        }
        // end
        #expect(try count == 1 && stack.mainContext.fetch(Book.self).map(\.isbn) == ["2"])
        // snippet
        let controller = LibraryController()
        controller.dataStack = stack
        // end
        #expect(controller.dataStack === stack)
        // snippet
        stack.saveAtShutdown()
        // end
        stack.stopSavingAtShutdown()
        // snippet
        try await stack.reset()
        // end
        #expect(try stack.mainContext.count(Book.self) == 0)
        try stack.container.close()
    }

    // snippet
    @Test func emmaIsFound() throws {
        let stack = DataStack { try .inMemory(for: Author.self, Book.self) }
        let controller = LibraryController()
        controller.dataStack = stack
        _ = Book(in: try stack.mainContext, isbn: "1", title: "Emma")
        #expect(try stack.mainContext.exists(Book.self) { $0.title == "Emma" })
    }
    // end

    // snippet
    struct DeleteOldBooks: ContextWork {
        let year: Int

        func performWork(in context: ManagedObjectContext) throws -> Int {
            try context.delete(Book.self) { $0.year < year }
        }
    }
    // end

    @Test func operationsRun() throws {
        let container = try PersistentContainer.inMemory(for: Author.self, Book.self)
        // snippet
        let queue = OperationQueue()
        let deletion = ContextOperation(DeleteOldBooks(year: 1800), in: container)
        let counting = ContextOperation(in: container) { context in try context.count(Book.self) }
        counting.addDependency(deletion)
        queue.addOperations([deletion, counting], waitUntilFinished: false)
        // end
        queue.waitUntilAllOperationsAreFinished()
        #expect(try deletion.get() == 0 && counting.get() == 0)
    }

    @Test func functionsRun() async throws {
        let container = try PersistentContainer.inMemory(for: Author.self, Book.self)
        // snippet
        let remaining = try await container.write { context in
            try context.delete(Book.self) { $0.year < 1800 }
            return try context.count(Book.self)
        }
        // end
        #expect(remaining == 0)
    }
}
