import Foundation
import Synchronization
import Testing

@testable import Hornbeam

/// The stack of two contexts.
@Suite struct DataStackTests {
    /// A controller as the notes on the stack have it.
    private final class Controller: DataStackSettable {
        var dataStack: DataStack?
    }

    @Test("STK-4, STK-5: a stack opens at its first use, with the options set before", arguments: StoreKind.allCases)
    @MainActor func lazyOpening(kind: StoreKind) async throws {
        let description = try Stack.freshDescription(kind)
        let stack = DataStack(name: "Library", for: ShelfAuthor.self, ShelfBook.self, ShelfTag.self)
        try stack.configure { $0.persistentStoreDescriptions = [description] }
        #expect(!FileManager.default.fileExists(atPath: description.url.path))
        #expect(try !stack.saveMainContext())
        #expect(!FileManager.default.fileExists(atPath: description.url.path))
        Shelves.book(1, in: try stack.mainContext)
        #expect(try stack.saveMainContext())
        #expect(try stack.container.name == "Library")
        #expect(try stack.container.persistentStoreCoordinator.persistentStoreDescriptions == [description])
        #expect(hornbeamError { try stack.configure { _ in } }?.code == .unsupportedRequest)
        try await stack.open()
    }

    @Test("STK-5: an opening that fails is tried again at the next use")
    @MainActor func failedOpening() throws {
        let stack = try Shelves.dataStack(.onDisk)
        try stack.configure { $0.persistentStoreDescriptions[0].createsIfMissing = false }
        #expect(hornbeamError { _ = try stack.mainContext }?.code == .notAStore)
        try stack.configure { $0.persistentStoreDescriptions[0].createsIfMissing = true }
        #expect(try stack.mainContext.count(ShelfBook.self) == 0)
    }

    @Test("STK-5: what runs while a stack opens gets an error from it, and other threads wait", arguments: StoreKind.allCases)
    func useDuringOpening(kind: StoreKind) async throws {
        let stack = try Shelves.dataStack(kind)
        let codes = Mutex<[HornbeamError.Code?]>([])
        let name = PersistentStoreCoordinator.storesDidChangeNotification
        let tokens = Mutex<[any NSObjectProtocol]>([])
        try stack.configure { [weak stack] container in
            tokens.withLock { tokens in
                tokens.append(
                    NotificationCenter.default.addObserver(forName: name, object: container.persistentStoreCoordinator, queue: nil) { [weak stack] _ in
                        codes.withLock { $0.append(hornbeamError { _ = try stack?.container }?.code) }
                    })
            }
        }
        defer { tokens.withLock { for token in $0 { NotificationCenter.default.removeObserver(token) } } }
        async let first = Task.detached { try stack.container }.value
        async let second = Task.detached { try stack.container }.value
        #expect(try await first === second)
        #expect(codes.withLock(\.self) == [.unsupportedRequest])
    }

    @Test("STK-5: the only model of a folder is found; none and several are errors")
    @MainActor func onlyModel() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func stack() throws -> DataStack {
            let stack = DataStack(modelsIn: folder)
            try stack.configure { $0.persistentStoreDescriptions = [.inMemory()] }
            return stack
        }
        try Data("{}".utf8).write(to: folder.appending(path: "other.json"))
        let none = hornbeamError { _ = try stack().mainContext }
        #expect(none?.code == .malformedModelFile && none?.message.contains("no model") == true)
        let model = try ManagedObjectModel(for: Shelves.classes).json()
        try model.write(to: folder.appending(path: "shelf.json"))
        #expect(try stack().container.managedObjectModel.entities.count == 3)
        try model.write(to: folder.appending(path: "shelf2.json"))
        let several = hornbeamError { _ = try stack().mainContext }
        #expect(several?.message.contains("shelf.json, shelf2.json") == true)
    }

    @Test("CON-8, STK-2: the two contexts follow each other's saves, which happen only with changes", arguments: StoreKind.allCases)
    @MainActor func pairFollows(kind: StoreKind) async throws {
        let stack = try Shelves.dataStack(kind)
        let background = try stack.backgroundContext
        #expect(try await !stack.saveBackgroundContext())
        await background.insertBook(1)
        #expect(try stack.mainContext.count(ShelfBook.self) == 0)
        #expect(try await stack.saveBackgroundContext())
        let book = try #require(try stack.mainContext.object(ShelfBook.self, key: 1))
        book.title = "changed in front"
        #expect(try stack.saveMainContext() && !stack.saveMainContext())
        #expect(try await background.perform { try $0.object(ShelfBook.self, key: 1)?.title } == "changed in front")
        #expect(try stack.backgroundContext === background)
    }

    @Test("CON-8: a failed save is thrown or passed to the closure, and the changes stay", arguments: StoreKind.allCases)
    @MainActor func failedSaves(kind: StoreKind) async throws {
        let stack = try Shelves.dataStack(kind)
        let context = try stack.mainContext
        Shelves.book(1, in: context, "")
        #expect(hornbeamError { try stack.saveMainContext() } != nil)
        #expect(context.hasChanges)
        try await stack.backgroundContext.perform { _ = Shelves.book(2, in: $0, "") }
        let result = await withCheckedContinuation { continuation in stack.saveBackgroundContext { continuation.resume(returning: $0) } }
        #expect(throws: HornbeamError.self) { try result.get() }
        try await stack.backgroundContext.perform { context in
            for book in try context.fetch(ShelfBook.self) { book.title = "a title" }
        }
        #expect(try await stack.saveBackgroundContext())
    }

    @Test("STK-1, STK-2, MOC-32: a further context observes another one, and no longer", arguments: StoreKind.allCases)
    @MainActor func observing(kind: StoreKind) async throws {
        let stack = try Shelves.dataStack(kind)
        let main = try stack.mainContext
        let book = Shelves.book(1, in: main, "one")
        try stack.saveMainContext()
        let context = try stack.container.newContext()
        context.automaticallyMergesChangesFromParent = false
        let copy = try context.existingObject(ShelfBook.self, with: book.objectID)
        #expect(copy.title == "one")
        context.observeSaves(of: main.identity)
        book.title = "two"
        try stack.saveMainContext()
        try context.mergeChanges()
        #expect(copy.title == "two")
        context.stopObservingSaves(of: main.identity)
        book.title = "three"
        try stack.saveMainContext()
        _ = try context.count(ShelfBook.self)
        #expect(copy.title == "two")
    }

    @Test("STK-8: a reset deletes the data, empties the contexts, and both are used again", arguments: StoreKind.allCases)
    @MainActor func reset(kind: StoreKind) async throws {
        let stack = try Shelves.dataStack(kind)
        let main = try stack.mainContext
        let background = try stack.backgroundContext
        for round in 0..<3 {
            let book = Shelves.book(round, in: main)
            try stack.saveMainContext()
            await background.insertBook(100)
            try await stack.reset()
            #expect(!main.hasChanges && book.managedObjectContext == nil)
            #expect(try stack.mainContext === main && stack.backgroundContext === background)
            #expect(try main.count(ShelfBook.self) == 0)
            #expect(try await background.perform { try $0.count(ShelfBook.self) } == 0)
        }
        let book = Shelves.book(5, in: main, "after")
        try stack.saveMainContext()
        #expect(try await background.perform { try $0.object(ShelfBook.self, key: 5)?.title } == "after")
        #expect(try main.object(ShelfBook.self, key: 5) === book)
        #expect(try main.upsert(ShelfBook.self, keys: [5, 6]).count == 2)
    }

    /// A server answers each lookup by a request.
    @Test("STK-8: after a reset, unique texts are looked up without a request, as before", arguments: StoreKind.own)
    @MainActor func fastPathsAfterReset(kind: StoreKind) async throws {
        let stack = try Shelves.dataStack(kind)
        for _ in 0..<3 {
            let main = try stack.mainContext
            let author = try main.insert(ShelfAuthor.self, key: "a")
            try stack.saveMainContext()
            #expect(try main.count(ShelfAuthor.self) == 1)
            #expect(main.isKnownNewest)
            #expect(try foundWithoutRequest("a", in: main) === author)
            let other = try stack.container.newContext()
            let found = try #require(try foundWithoutRequest("a", in: other) as? ShelfAuthor)
            #expect(found.name == "a" && found.objectID == author.objectID)
            #expect(try foundWithoutRequest("b", in: other) == nil)
            try await stack.reset()
        }
    }

    private func foundWithoutRequest(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject? {
        switch try context.lookUp(ShelfAuthor.self, ShelfAuthor.name.nameID, .string(name)) {
        case .object(let object): return object
        case .nothing: return nil
        case .unsupported:
            Issue.record("The lookup needs a request.")
            return nil
        }
    }

    @Test("STK-8: a reset of a stack that is not open deletes its store too")
    @MainActor func resetBeforeUse() async throws {
        let stack = try Shelves.stack(.onDisk)
        let description = stack.description
        try stack.container.performAndWait { context in
            Shelves.book(1, in: context)
            try context.save()
        }
        try stack.container.close()
        let again = DataStack { try PersistentContainer(name: "Test", model: ManagedObjectModel(for: Shelves.classes), classes: Shelves.classes) }
        try again.configure { $0.persistentStoreDescriptions = [description] }
        try await again.reset()
        #expect(try again.mainContext.count(ShelfBook.self) == 0)
    }

    @Test("STK-6: types with the property receive a stack; several stacks can exist at the same time", arguments: StoreKind.allCases)
    @MainActor func sideBySide(kind: StoreKind) throws {
        let controllers = try [Controller(), Controller()].map { controller in
            controller.dataStack = try Shelves.dataStack(kind)
            return controller
        }
        for (number, controller) in controllers.enumerated() {
            let stack = try #require(controller.dataStack)
            Shelves.book(number, in: try stack.mainContext)
            try stack.saveMainContext()
        }
        let keys = try controllers.map { try $0.dataStack?.mainContext.fetch(ShelfBook.self).map(\.isbn) }
        #expect(keys == [[0], [1]])
    }

    @Test("CON-8, NOT-7: the main context has merged a transaction when it ends; a dropped one leaves nothing", arguments: StoreKind.allCases)
    @MainActor func transactions(kind: StoreKind) async throws {
        let stack = try Shelves.dataStack(kind)
        let main = try stack.mainContext
        let book = Shelves.book(1, in: main, "one")
        try stack.saveMainContext()
        let transaction = try stack.beginTransaction()
        try #require(try transaction.context.object(ShelfBook.self, key: 1)).title = ""
        Shelves.book(2, in: transaction.context)
        #expect(book.title == "one")
        #expect(hornbeamError { try transaction.end() } != nil)
        try transaction.context.object(ShelfBook.self, key: 1)?.title = "two"
        try transaction.end()
        #expect(book.title == "two")
        let dropped = try stack.beginTransaction()
        Shelves.book(3, in: dropped.context)
        dropped.drop()
        try dropped.end()
        #expect(try main.count(ShelfBook.self) == 2)
    }

    @Test("CON-8: a transaction on a background thread returns after the main context has merged it", arguments: StoreKind.allCases)
    @MainActor func backgroundTransactions(kind: StoreKind) async throws {
        let stack = try Shelves.dataStack(kind)
        let main = try stack.mainContext
        let book = Shelves.book(1, in: main, "one")
        try stack.saveMainContext()
        let count = try await stack.transaction { context in
            for book in try context.fetch(ShelfBook.self) { book.title = "two" }
            return try context.count(ShelfBook.self)
        }
        #expect(count == 1 && book.title == "two")
        await #expect(throws: CancellationError.self) {
            try await stack.transaction { context in
                Shelves.book(9, in: context)
                throw CancellationError()
            }
        }
        #expect(try main.count(ShelfBook.self) == 1)
    }
}

extension BackgroundContext {
    /// Makes a book that is not saved.
    fileprivate func insertBook(_ isbn: Int) {
        _ = try? perform { context in _ = Shelves.book(isbn, in: context) }
    }
}
