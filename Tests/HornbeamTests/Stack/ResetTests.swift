import Foundation
import HornbeamThreads
import Testing

@testable import Hornbeam

/// A reset of a stack beside others that use it.
@Suite struct ResetTests {
    @Test("STK-8, MOC-17: new objects have permanent IDs after a reset as before it", arguments: StoreKind.allCases)
    @MainActor func permanentIDs(kind: StoreKind) async throws {
        let stack = try Shelves.dataStack(kind)
        for _ in 0..<3 {
            let container = try stack.container
            let ids = try await container.write { context in
                let author = ShelfAuthor(in: context, name: "a")
                let book = Shelves.book(1, in: context)
                book.author = author
                return [author.objectID, book.objectID]
            }
            #expect(ids.allSatisfy { !$0.isTemporaryID })
            let book = try #require(try stack.mainContext.object(ShelfBook.self, key: 1))
            #expect([book.author?.objectID, book.objectID] == ids)
            let temporary = ShelfTag(in: try stack.mainContext, word: "t")
            temporary.books = [book]
            try stack.saveMainContext()
            #expect(try await container.performBackgroundTask { try $0.fetch(ShelfBook.self).first?.tags.map(\.word) } == ["t"])
            try await stack.reset()
        }
    }

    @Test("STK-8: a new object of another context goes into the store that a reset made", arguments: StoreKind.allCases)
    @MainActor func unsavedObjectsOfOthers(kind: StoreKind) async throws {
        let stack = try Shelves.dataStack(kind)
        let context = try stack.container.newContext()
        Shelves.book(7, in: context)
        try await stack.reset()
        try context.save()
        #expect(try stack.mainContext.fetch(ShelfBook.self).map(\.isbn) == [7])
    }

    @Test("STK-8: a store that another stack uses is not reset, and its data stays", .refusedByServer(.sharedDescriptions), arguments: StoreKind.allCases)
    @MainActor func storeOfTwoStacks(kind: StoreKind) async throws {
        let description = try Stack.freshDescription(kind)
        let stacks = [DataStack(for: ShelfAuthor.self, ShelfBook.self, ShelfTag.self), DataStack(for: ShelfAuthor.self, ShelfBook.self, ShelfTag.self)]
        for stack in stacks { try stack.configure { $0.persistentStoreDescriptions = [description] } }
        Shelves.book(1, in: try stacks[0].mainContext)
        try stacks[0].saveMainContext()
        #expect(try stacks[1].mainContext.count(ShelfBook.self) == 1)
        let error = await #expect(throws: HornbeamError.self) { try await stacks[0].reset() }
        #expect(error?.code == .storeInUse)
        #expect(try stacks[0].mainContext.fetch(ShelfBook.self).map(\.isbn) == [1])
        #expect(try stacks[1].mainContext.fetch(ShelfBook.self).map(\.isbn) == [1])
        try stacks[1].container.close()
        try await stacks[0].reset()
        #expect(try stacks[0].mainContext.count(ShelfBook.self) == 0)
    }

    /// The findings of the tasks beside the resets.
    private struct Findings {
        var hasEnded = false
        var codes: Set<HornbeamError.Code> = []
        var wrongTitles: [String] = []
        var saved = 0
    }

    /// Calls the body repeatedly until the resets have ended. A reset may close the store under it.
    private static func repeated(_ findings: borrowing Guarded<Findings>, _ body: (Int) async throws -> Void) async throws {
        var number = 0
        while !findings.withLock({ $0.hasEnded }) {
            number += 1
            do { try await body(number) } catch let error as HornbeamError { findings.withLock { _ = $0.codes.insert(error.code) } }
            await Task.yield()
        }
    }

    @Test("STK-8: readers, saves and fetched results beside resets see whole books or a closed store", arguments: StoreKind.allCases)
    @MainActor func besideOthers(kind: StoreKind) async throws {
        let stack = try Shelves.dataStack(kind)
        let other = try Shelves.dataStack(kind)
        let main = try stack.mainContext
        let list = try FetchedResultsController(FetchRequest<ShelfBook>().sorted(by: "isbn"), in: main)
        list.onChange = { _ in }
        try list.performFetch()
        let shared = Shared()
        let (container, otherContainer) = (try stack.container, try other.container)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await Self.repeated(shared.findings) { _ in
                    let wrong = try await container.read { context in
                        try context.fetch(ShelfBook.self).filter { $0.title != "book \($0.isbn)" }.map(\.title)
                    }
                    shared.findings.withLock { $0.wrongTitles += wrong }
                }
            }
            group.addTask {
                try await Self.repeated(shared.findings) { number in
                    try await container.write { context in
                        for key in number * 10..<number * 10 + 5 { Shelves.book(1000 + key, in: context, "book \(1000 + key)") }
                    }
                }
            }
            group.addTask {
                try await Self.repeated(shared.findings) { number in
                    try await otherContainer.write { Shelves.book(number, in: $0) }
                    shared.findings.withLock { $0.saved += 1 }
                }
            }
            for round in 0..<8 {
                for key in 0..<20 { Shelves.book(key, in: main, "book \(key)") }
                try stack.saveMainContext()
                try await stack.reset()
                if round == 3 { try await stack.reset() }
            }
            shared.findings.withLock { $0.hasEnded = true }
            try await group.waitForAll()
        }
        let findings = shared.findings.withLock(\.self)
        #expect(findings.wrongTitles == [] && findings.codes.isSubset(of: [.closed]), "\(findings.codes)")
        #expect(try other.mainContext.count(ShelfBook.self) == findings.saved)
        // Each reset invalidates the list (FRC-15).
        #expect(!list.isFetched)
        try list.performFetch()
        Shelves.book(1, in: main, "book 1")
        try stack.saveMainContext()
        try main.mergeAndProcess()
        let keys = try main.fetch(FetchRequest<ShelfBook>().sorted(by: "isbn")).map(\.isbn)
        #expect(list.fetchedObjects?.map(\.isbn) == keys && keys.first == 1)
    }

    private final class Shared: Sendable {
        let findings = Guarded(Findings())
    }
}
