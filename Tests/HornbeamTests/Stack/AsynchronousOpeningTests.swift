import Foundation
import Hornbeam
import Testing

/// `open` away from the calling thread.
@Suite struct AsynchronousOpeningTests {
    private static let first: @Sendable () throws -> ManagedObjectModel = {
        try ManagedObjectModel {
            Entity("Book") {
                Attribute<String>("title")
                Attribute<Int?>("pages")
            }
        }
    }
    private static let second: @Sendable () throws -> ManagedObjectModel = {
        try ManagedObjectModel {
            Entity("Book") {
                Attribute<String>("title")
                Attribute<Int>("pages", default: 7)
            }
        }
    }

    private func filled() throws -> MigratedStore {
        let store = try MigratedStore()
        try store.with(Self.first()) { context in
            for number in 0 ..< 200 { try context.insert("Book", ["title": .string("\(number)")]) }
        }
        return store
    }

    @Test("CON-3: stores are opened on a background thread, for classes and for a model")
    func storesAreOpened() async throws {
        let url = try Stack.freshDescription(.onDisk).url
        let container = try await PersistentContainer.open(at: url, for: MacroPart.self, MacroAssembly.self)
        try await container.write { _ = MacroPart(in: $0, label: "wheel") }
        try container.close()
        let model = try ManagedObjectModel(for: MacroPart.self, MacroAssembly.self)
        let again = try await PersistentContainer.open(at: url, model: model, classes: [MacroPart.self])
        #expect(try await again.read { try $0.fetch(FetchRequest<MacroPart>()).map(\.label) } == ["wheel"])
        try again.close()
    }

    @Test("CON-3: the steps of a monitor end when the opening fails before a store is reached")
    func stepsEnd() async throws {
        let url = try Stack.freshDescription(.onDisk).url
        let monitor = MigrationMonitor()
        await #expect(throws: HornbeamError.self) {
            try await PersistentContainer.open(at: url, model: Self.first(), classes: [MacroPart.self], migration: monitor)
        }
        for await step in monitor.steps { Issue.record("\(step)") }
    }

    @Test("CON-3: an error of opening is thrown")
    func errorsAreThrown() async throws {
        let url = try Stack.freshDescription(.onDisk).url
        try Data("no store".utf8).write(to: url)
        await #expect(throws: HornbeamError.self) { try await PersistentContainer.open(at: url, model: Self.first()) }
    }

    @Test("MIG-4: a monitor follows the migration")
    func migrationIsFollowed() async throws {
        let store = try filled()
        let monitor = MigrationMonitor()
        let container = try await PersistentContainer.open(at: store.url, model: Self.second(), migration: monitor)
        var parts: Set<String> = []
        for await step in monitor.steps { parts.insert(step.part) }
        #expect(parts.contains("Book") && monitor.progress.completedUnitCount > 0, "\(parts)")
        #expect(try await container.read { try $0.count(FetchRequest<ManagedObject>(entityName: "Book").where("pages == 7")) } == 200)
        try container.close()
    }

    @Test("MIG-4: cancelling the task cancels the migration, and the store stays as it was")
    func cancellingCancelsTheMigration() async throws {
        let store = try filled()
        let monitor = MigrationMonitor()
        monitor.cancel()
        await #expect(throws: HornbeamError.self) {
            try await PersistentContainer.open(at: store.url, model: Self.second(), migration: monitor)
        }
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await PersistentContainer.open(at: store.url, model: Self.second())
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        try store.with(Self.first()) { (context) throws in
            #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Book")) == 200)
        }
    }
}
