import Hornbeam
import Testing

/// `write` saves at its end or not at all; `read` sees one state and leaves no changes.
@Suite struct TransactionTests {
    private struct Refusal: Error {}

    private func container() throws -> PersistentContainer {
        try PersistentContainer.inMemory(model: Company.model(), classes: Company.classes)
    }

    private func names(_ container: PersistentContainer) throws -> [String] {
        try container.read { try $0.fetch(FetchRequest<Employee>().sorted(by: \.name)).map(\.name) }
    }

    @Test func writeSavesAtItsEndAndReturnsTheResult() throws {
        let container = try container()
        let id = try container.write { $0.employee("Ada").objectID }
        #expect(!id.isTemporaryID)
        #expect(try names(container) == ["Ada"])
    }

    @Test func writeSavesNothingWhenItsBodyThrows() throws {
        let container = try container()
        #expect(throws: Refusal.self) {
            try container.write { context in
                context.employee("Ada")
                throw Refusal()
            }
        }
        #expect(try names(container) == [])
    }

    @Test func writeThrowsWhatTheSaveThrows() throws {
        let container = try container()
        #expect(throws: HornbeamError.self) { try container.write { _ = Employee(context: $0) } }
        #expect(try names(container) == [])
    }

    @Test func readRefusesToLoseChanges() throws {
        let container = try container()
        let error = #expect(throws: HornbeamError.self) { try container.read { _ = $0.employee("Ada") } }
        #expect(error?.code == .unsupportedRequest)
        #expect(error?.message == "The body of read left unsaved changes, which are not saved. Use write for changes.")
    }

    @Test func readSeesOneStateWhileOthersWrite() throws {
        let container = try container()
        try container.write { _ = $0.employee("Ada") }
        let counts = try container.read { context in
            let before = try context.count(FetchRequest<Employee>())
            try container.write { _ = $0.employee("Grace") }
            return [before, try context.count(FetchRequest<Employee>())]
        }
        #expect(counts == [1, 1])
        #expect(try names(container) == ["Ada", "Grace"])
    }

    @Test func asynchronousFormsRunInTheBackground() async throws {
        let container = try container()
        try await container.write { _ = $0.employee("Ada") }
        #expect(try await container.read { try $0.count(FetchRequest<Employee>()) } == 1)
        await #expect(throws: Refusal.self) { try await container.write { _ in throw Refusal() } }
    }

    @Test("CON-6: a body may end with a new object, with one statement or several; one with a result returns it", arguments: StoreKind.allCases)
    func bodiesThatEndWithNewObjects(kind: StoreKind) async throws {
        let container = try Shelves.stack(kind).container
        func write() throws {
            try container.write { ShelfAuthor(in: $0, name: "a") }
            try container.write { context in
                ShelfAuthor(in: context, name: "b")
                ShelfAuthor(in: context, name: "c")
            }
            try container.write { ShelfAuthor(context: $0).name = "d" }
            try container.write { Shelves.book(1, in: $0) }
            let id = try container.write { ShelfAuthor(in: $0, name: "e").objectID }
            #expect(!id.isTemporaryID)
        }
        try write()
        try await container.write { ShelfAuthor(in: $0, name: "f") }
        try await container.write { context in
            ShelfAuthor(in: context, name: "g")
            ShelfAuthor(in: context, name: "h")
        }
        let count = try await container.write { context in
            ShelfAuthor(in: context, name: "i")
            return try context.count(ShelfAuthor.self)
        }
        #expect(count == 9)
        #expect(try await container.performBackgroundTask { try $0.fetch(ShelfAuthor.self).map(\.name).sorted().joined() } == "abcdefghi")
    }

    @Test("CON-8: a transaction of a stack may end with a new object; one with a result returns it", arguments: StoreKind.allCases)
    @MainActor func transactionsThatEndWithNewObjects(kind: StoreKind) async throws {
        let stack = try Shelves.dataStack(kind)
        try await stack.transaction { ShelfAuthor(in: $0, name: "a") }
        try await stack.transaction { context in
            ShelfAuthor(in: context, name: "b")
            ShelfAuthor(context: context).name = "c"
        }
        let count = try await stack.transaction { try $0.count(ShelfAuthor.self) }
        #expect(try count == 3 && stack.mainContext.count(ShelfAuthor.self) == 3)
    }
}
