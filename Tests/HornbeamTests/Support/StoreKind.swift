import Foundation
import Hornbeam
import Testing

/// The kind of a test's store: every test of behaviour runs with both.
enum StoreKind: CaseIterable, CustomTestStringConvertible {
    case onDisk, inMemory
    var testDescription: String { self == .onDisk ? "on disk" : "in memory" }
}

/// The folder of the stores of one test run; removed when the process ends.
private let testFolder: URL = {
    let folder = FileManager.default.temporaryDirectory.appending(path: "hornbeam-tests-\(UUID().uuidString)")
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    atexit { try? FileManager.default.removeItem(at: testFolder) }
    return folder
}()

/// A container of its own for one test.
struct Stack {
    let container: PersistentContainer
    let model: ManagedObjectModel
    let description: PersistentStoreDescription
    private let classes: [ManagedObject.Type]

    init(
        _ kind: StoreKind, _ model: ManagedObjectModel, _ classes: [ManagedObject.Type] = [],
        configure: (inout PersistentStoreDescription) -> Void = { _ in }
    ) throws {
        self.model = model
        self.classes = classes
        var description = try Self.freshDescription(kind)
        configure(&description)
        self.description = description
        container = try Self.open(description, model, classes)
    }

    /// The path of a store that does not exist yet.
    static func freshDescription(_ kind: StoreKind) throws -> PersistentStoreDescription {
        switch kind {
        case .inMemory: .inMemory()
        case .onDisk: PersistentStoreDescription(url: testFolder.appending(path: "\(UUID().uuidString).hornbeam"))
        }
    }

    /// The same store, closed and opened again.
    func reopened() throws -> PersistentContainer {
        try container.close()
        return try Self.open(description, model, classes)
    }

    private static func open(
        _ description: PersistentStoreDescription, _ model: ManagedObjectModel, _ classes: [ManagedObject.Type]
    ) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Test", model: model, classes: classes)
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        return container
    }

    var url: URL { description.url }

    func newContext() -> ManagedObjectContext { container.newContext() }

    /// A context that does not merge the saves of other contexts.
    func newStaleContext() -> ManagedObjectContext {
        let context = container.newContext()
        context.automaticallyMergesChangesFromParent = false
        return context
    }
}

/// Runs the body and returns the library's error that it throws.
func hornbeamError(
    _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> HornbeamError? {
    do {
        try body()
        Issue.record("nothing was thrown", sourceLocation: location)
    } catch let error as HornbeamError {
        return error
    } catch {
        Issue.record("another error was thrown: \(error)", sourceLocation: location)
    }
    return nil
}
