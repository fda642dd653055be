import Foundation
import Testing

@testable import Hornbeam
@testable import HornbeamStore

/// The kind of a test's store: every test of behaviour runs with all of them.
enum StoreKind: CaseIterable, CustomTestStringConvertible {
    case onDisk, inMemory
    /// On disk, and another process writes it too: `newOtherContext` makes contexts of a second engine, as the other process has it.
    case shared
    /// In a PostgreSQL database, with `Scripts/with-postgres`.
    case onServer

    /// The stores of Hornbeam's own engine.
    static let own: [StoreKind] = [.onDisk, .inMemory]
    static let allCases: [StoreKind] = own + server
    /// For tests of two sides.
    static let withOtherProcess: [StoreKind] = [.onDisk, .inMemory, .shared] + server
    /// The server, if there is one.
    static let server: [StoreKind] = TestServer.isThere ? [.onServer] : []

    var testDescription: String {
        switch self {
        case .onDisk: "on disk"
        case .inMemory: "in memory"
        case .shared: "with another process"
        case .onServer: "on a server"
        }
    }
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
    private let other: OtherProcess?

    init(
        _ kind: StoreKind, _ model: ManagedObjectModel, _ classes: [ManagedObject.Type] = [],
        configure: (inout PersistentStoreDescription) -> Void = { _ in }
    ) throws {
        self.model = model
        self.classes = classes
        var description = try Self.freshDescription(kind)
        if kind == .shared { (description.isShared, description.busyTimeout) = (true, .seconds(300)) }
        configure(&description)
        self.description = description
        container = try Self.open(description, model, classes)
        other = kind == .shared ? try OtherProcess(beside: container, description, classes) : nil
    }

    /// The path of a store that does not exist yet.
    static func freshDescription(_ kind: StoreKind) throws -> PersistentStoreDescription {
        switch kind {
        case .inMemory: .inMemory()
        case .onDisk, .shared: PersistentStoreDescription(url: testFolder.appending(path: "\(UUID().uuidString).hornbeam"))
        case .onServer: TestServer.description()
        }
    }

    /// Closes the store and opens it again.
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

    /// A context of the other process, if the stack has one; otherwise another context of this one.
    func newOtherContext() -> ManagedObjectContext { (other?.container ?? container).newContext() }

    /// A context that does not merge the saves of other contexts.
    func newStaleContext() -> ManagedObjectContext {
        let context = container.newContext()
        context.automaticallyMergesChangesFromParent = false
        return context
    }
}

/// A container with an engine of its own of the same store. After a save on one side, the other side reads it before the save returns, so that
/// tests need not wait.
private final class OtherProcess: @unchecked Sendable {  // immutable after its initialisation
    let container: PersistentContainer
    private var token: (any NSObjectProtocol)?

    init(beside first: PersistentContainer, _ description: PersistentStoreDescription, _ classes: [ManagedObject.Type]) throws {
        let store = try Store.open(description.location, model: first.managedObjectModel, options: description.options)
        let other = try PersistentContainer.over(store, classes: classes)
        container = other
        let sides = [first.persistentStoreCoordinator, other.persistentStoreCoordinator]
        token = NotificationCenter.default.addObserver(
            forName: ManagedObjectContext.didSaveObjectIDsNotification, object: nil, queue: nil
        ) { notification in
            guard let context = notification.object as? ManagedObjectContext, sides.contains(where: { $0 === context.persistentStoreCoordinator })
            else { return }
            for side in sides where side !== context.persistentStoreCoordinator {
                do { _ = try side.refreshReadOnlyStores() } catch { Issue.record(error) }
            }
        }
    }

    deinit { if let token { NotificationCenter.default.removeObserver(token) } }
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
