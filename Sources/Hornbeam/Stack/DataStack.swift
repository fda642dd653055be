public import Foundation
public import HornbeamModel
internal import HornbeamThreads

/// A container that opens at its first use, with a main context and a background context that follow each other (STK-5, CON-8).
///
/// ```swift
/// let stack = DataStack(name: "Library", for: Author.self, Book.self)
/// let book = Book(in: try stack.mainContext, title: "Frankenstein")
/// try stack.saveMainContext()
/// ```
/// An app makes one stack for each set of data, and a test makes a separate one. There is no global stack. Can be used from any thread;
/// only the main context belongs to the main actor.
public final class DataStack: Sendable {
    private let make: @Sendable () throws -> PersistentContainer
    private let state = Guarded(State())

    private struct State {
        var settings: [@Sendable (PersistentContainer) throws -> Void] = []
        var container: PersistentContainer?
        var background: BackgroundContext?
        /// The thread that makes the container or opens its stores. Others wait; the lock is free meanwhile, because closures of the app run.
        var opener: ObjectIdentifier?
        /// True while the stores are loaded.
        var isOpen = false
        /// True once they were loaded: contexts of the container may be in use.
        var wasOpen = false
    }

    /// A stack over the container that the closure makes at the first use. The stack opens its stores.
    ///
    /// `DataStack { try .inMemory(for: Book.self) }` is a stack for one test.
    public init(_ make: @escaping @Sendable () throws -> PersistentContainer) { self.make = make }

    /// A stack for the model that classes declare.
    ///
    /// - Parameters:
    ///   - name: The name of the container, and of its store in the default directory; that of the process when nil.
    ///   - classes: The classes of the model.
    public convenience init(name: String? = nil, for classes: ManagedObject.Type...) {
        self.init {
            try PersistentContainer(name: name ?? Self.processName, model: ManagedObjectModel(for: classes), classes: classes)
        }
    }

    /// A stack for a model, which is made at the first use.
    public convenience init(
        name: String? = nil, model: @autoclosure @escaping @Sendable () throws -> ManagedObjectModel, classes: [ManagedObject.Type] = []
    ) {
        self.init { try PersistentContainer(name: name ?? Self.processName, model: model(), classes: classes) }
    }

    /// A stack for the only model among the JSON files of a bundle, such as `Bundle.module` (STK-5).
    ///
    /// The first use throws `malformedModelFile` when the bundle has no model, or several.
    public convenience init(name: String? = nil, bundle: Bundle, classes: [ManagedObject.Type] = []) {
        let folder = bundle.resourceURL ?? bundle.bundleURL
        self.init(name: name, modelsIn: folder, classes: classes)
    }

    /// A stack for the only model among the JSON files of a folder.
    public convenience init(name: String? = nil, modelsIn folder: URL, classes: [ManagedObject.Type] = []) {
        self.init { try PersistentContainer(name: name ?? Self.processName, model: .onlyModel(in: folder), classes: classes) }
    }

    private static var processName: String { ProcessInfo.processInfo.processName }

    // MARK: Opening

    /// Sets options of the container before its stores are opened: descriptions of stores, observers of slow fetches.
    ///
    /// ```swift
    /// try stack.configure { $0.persistentStoreDescriptions = [.inMemory()] }
    /// ```
    /// - Throws: `unsupportedRequest` when the stack is open already.
    public func configure(_ change: @escaping @Sendable (PersistentContainer) throws -> Void) throws {
        try state.withLock { state in
            guard !state.isOpen, state.opener == nil else {
                throw HornbeamError(
                    .unsupportedRequest, "The stack is open already. Set its options before its first use.")
            }
            state.settings.append(change)
        }
    }

    /// The container with open stores. The first call opens them, which blocks.
    ///
    /// - Throws: The errors of making the container and of opening its stores, after which the next call tries again; `unsupportedRequest` when
    ///   code that runs during the opening reads the container, such as a stage of a migration or an observer.
    public var container: PersistentContainer {
        get throws {
            let (known, isOpen) = try beginOpening()
            if let known, isOpen { return known }
            var made = known
            do {
                let container = try known ?? configuredContainer()
                made = container
                try container.loadPersistentStores()
                endOpening(container, isOpen: true)
                return container
            } catch {
                if state.withLock({ !$0.wasOpen }) {
                    try? made?.close()
                    made = nil
                }
                endOpening(made, isOpen: false)
                throw error
            }
        }
    }

    /// The open container; or, after which the caller must call `endOpening`, the closed one, or nil when none was made yet. Waits while another
    /// thread opens it.
    private func beginOpening() throws -> (container: PersistentContainer?, isOpen: Bool) {
        let thread = ObjectIdentifier(Thread.current)
        let found: (container: PersistentContainer?, isOpen: Bool)? = state.wait { state in
            if state.isOpen { return .some((state.container, true)) }
            if state.opener == thread { return .some(nil) }
            guard state.opener == nil else { return nil }
            state.opener = thread
            return .some((state.container, false))
        }
        guard let found else {
            throw HornbeamError(
                .unsupportedRequest,
                "The stack is being opened, and what runs during its opening cannot use it. Use the container that the closure or the "
                    + "notification has.")
        }
        return found
    }

    private func endOpening(_ container: PersistentContainer?, isOpen: Bool) {
        state.withLock { state in
            state.container = container
            state.opener = nil
            if isOpen { (state.isOpen, state.wasOpen) = (true, true) }
        }
        state.monitor.signalAll(.progress)
    }

    /// Opens the stores on a background thread, unless they are open.
    ///
    /// - Throws: The errors of `container`.
    public func open() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            WorkerThreads.tasks.enqueue { [self] in continuation.resume(with: Result { _ = try container }) }
        }
    }

    /// The container if its stores are open; opens nothing.
    var openContainer: PersistentContainer? { state.withLock { $0.isOpen ? $0.container : nil } }

    /// The background context if it was used.
    var usedBackgroundContext: BackgroundContext? { state.withLock(\.background) }

    private func configuredContainer() throws -> PersistentContainer {
        let container = try make()
        for setting in state.withLock(\.settings) { try setting(container) }
        return container
    }

    /// The container, made if it was not made yet; opens nothing.
    private func closedContainer() throws -> PersistentContainer {
        let (known, isOpen) = try beginOpening()
        if let known, isOpen { return known }
        do {
            let container = try known ?? configuredContainer()
            endOpening(container, isOpen: false)
            return container
        } catch {
            endOpening(nil, isOpen: false)
            throw error
        }
    }

    // MARK: Contexts

    /// The context of the main actor. It merges the saves of all other contexts.
    ///
    /// - Throws: The errors of `container`.
    @MainActor public var mainContext: ManagedObjectContext {
        get throws { try container.viewContext }
    }

    /// The background context of the stack. It merges the saves of all other contexts; `container` makes further ones.
    ///
    /// - Throws: The errors of `container`.
    public var backgroundContext: BackgroundContext {
        get throws {
            let container = try container
            return state.withLock { state in
                if let background = state.background { return background }
                let background = container.newBackgroundContext()
                state.background = background
                return background
            }
        }
    }

    // MARK: Reset

    /// Deletes the stores with all their data and makes empty ones; the contexts of the stack are emptied and stay in use (STK-8).
    ///
    /// Other contexts lose their objects at their next fetch. Read-only stores keep their data.
    /// - Throws: `storeInUse` when another container uses a store; `unsupportedRequest` for a custom store that does not implement `destroy()`; errors of
    ///   files; the errors of `container`.
    @MainActor public func reset() async throws {
        if let background = usedBackgroundContext { try await background.perform { $0.reset() } }
        try emptyStores()
    }

    @MainActor private func emptyStores() throws {
        let container = try closedContainer()
        container.viewContext.reset()
        let coordinator = container.persistentStoreCoordinator
        do {
            // Until the new stores are open, other contexts get the error `closed`.
            defer { state.withLock { $0.isOpen = false } }
            for store in coordinator.persistentStores { try coordinator.remove(store) }
            for description in container.persistentStoreDescriptions where !description.isReadOnly {
                try coordinator.destroyPersistentStore(description)
            }
        }
        _ = try self.container
    }
}

/// A type that receives the stack from its creator: `controller.dataStack = dataStack` (STK-6).
public protocol DataStackSettable: AnyObject {
    /// The stack to use.
    var dataStack: DataStack? { get set }
}

extension ManagedObjectModel {
    /// The only model among the JSON files of a folder. A JSON file with the member `hornbeamModel` is a model (STK-5).
    ///
    /// - Throws: `malformedModelFile` when there is no model, or several; the errors of `init(contentsOf:)`.
    static func onlyModel(in folder: URL) throws -> ManagedObjectModel {
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        let models = files.filter { file in
            guard file.pathExtension == "json", let bytes = try? Data(contentsOf: file) else { return false }
            return bytes.range(of: Data("\"hornbeamModel\"".utf8)) != nil
        }
        if models.count == 1 { return try ManagedObjectModel(contentsOf: models[0]) }
        let names = models.map(\.lastPathComponent).sorted().joined(separator: ", ")
        throw HornbeamError(
            .malformedModelFile,
            models.isEmpty
                ? "The folder “\(folder.lastPathComponent)” has no model: put a JSON model there, or make the stack with a model."
                : "The folder “\(folder.lastPathComponent)” has several models (\(names)): make the stack with one of them.")
    }
}
