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
}
