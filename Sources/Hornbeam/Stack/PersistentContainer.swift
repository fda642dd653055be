public import Foundation
public import HornbeamModel
internal import HornbeamThreads

/// A model with its stores and contexts.
///
/// ```swift
/// let container = try PersistentContainer(name: "Company", model: model, classes: [Employee.self])
/// try container.loadPersistentStores()
/// ```
/// Can be used from any thread, except for `viewContext`, which belongs to the main actor.
public final class PersistentContainer: Sendable {
    /// The name of the container, and by default of its store (CON-1).
    public let name: String
    /// The coordinator of the container's stores.
    public let persistentStoreCoordinator: PersistentStoreCoordinator

    /// Nil until set, because computing the default takes time.
    private let descriptions = Guarded<[PersistentStoreDescription]?>(nil)
    @MainActor private var madeViewContext: ManagedObjectContext?

    /// A container for stores with a model. `loadPersistentStores()` opens them.
    ///
    /// - Parameters:
    ///   - name: The name of the container, and of its store by default.
    ///   - model: The model of the stores.
    ///   - classes: The classes of the model's entities. An entity without a class has objects of class `ManagedObject`.
    /// - Throws: `unboundClass`, which lists every difference between the classes and the model.
    public init(name: String, model: ManagedObjectModel, classes: [ManagedObject.Type] = []) throws {
        self.name = name
        persistentStoreCoordinator = try PersistentStoreCoordinator(
            managedObjectModel: model, classes: classes)
    }

    /// A container for the current version of a model. It migrates stores of older versions through each version between (MIG-14).
    ///
    /// - Throws: The errors of `init(name:model:classes:)`.
    public init(name: String, versions: VersionedModel, classes: [ManagedObject.Type] = []) throws {
        self.name = name
        persistentStoreCoordinator = try PersistentStoreCoordinator(versions: versions, classes: classes)
    }

    /// A container for the last version of a migration plan. It migrates stores of older versions stage by stage (MIG-11).
    ///
    /// - Parameters:
    ///   - name: The name of the container, and of its store by default.
    ///   - plan: The stages from the oldest version to the current one.
    ///   - classes: The classes of the current version; if nil, those of its schema.
    /// - Throws: The errors of `init(name:model:classes:)`.
    public init(name: String, plan: MigrationPlan, classes: [ManagedObject.Type]? = nil) throws {
        self.name = name
        persistentStoreCoordinator = try PersistentStoreCoordinator(plan: plan, classes: classes)
    }

    /// A container with an open store at a path on disk.
    ///
    /// - Throws: The errors of `init` and `loadPersistentStores()`.
    public static func open(
        at url: URL, model: ManagedObjectModel, classes: [ManagedObject.Type] = []
    ) throws -> PersistentContainer {
        try open(PersistentStoreDescription(url: url), model: model, classes: classes, migration: nil)
    }

    static func open(
        _ description: PersistentStoreDescription, model: ManagedObjectModel, classes: [ManagedObject.Type], migration: MigrationMonitor?
    ) throws -> PersistentContainer {
        let container = try PersistentContainer(name: description.url.deletingPathExtension().lastPathComponent, model: model, classes: classes)
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores(migration: migration)
        return container
    }

    /// A container with an open store in memory. For tests and caches.
    ///
    /// - Throws: The errors of `init`.
    public static func inMemory(
        model: ManagedObjectModel, classes: [ManagedObject.Type] = []
    ) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "memory", model: model, classes: classes)
        container.persistentStoreDescriptions = [.inMemory()]
        try container.loadPersistentStores()
        return container
    }

    /// The model of the stores.
    public var managedObjectModel: ManagedObjectModel { persistentStoreCoordinator.managedObjectModel }

    /// The stores that `loadPersistentStores` opens; by default, one store on disk in the default directory (CON-2).
    public var persistentStoreDescriptions: [PersistentStoreDescription] {
        get { descriptions.withLock(\.self) ?? [defaultDescription] }
        set { descriptions.withLock { $0 = newValue } }
    }

    private var defaultDescription: PersistentStoreDescription {
        PersistentStoreDescription(url: Self.defaultDirectoryURL().appending(path: name + ".hornbeam"))
    }

    /// Opens the stores that are not open yet (CON-3).
    ///
    /// If a store cannot be opened, the others are still opened.
    /// - Throws: The error of a store; the errors of several stores in one error.
    public func loadPersistentStores() throws { try loadPersistentStores(migration: nil) }

    /// Opens the stores that are not open yet; `migration` reports the progress of their migrations, and can cancel them.
    public func loadPersistentStores(migration: MigrationMonitor?) throws {
        defer { migration?.finish() }
        var problems: [HornbeamError] = []
        for description in persistentStoreDescriptions {
            do {
                try makeParent(of: description)
                try persistentStoreCoordinator.addPersistentStore(description, migration: migration)
            } catch let error as HornbeamError { problems.append(error) }
        }
        if let error = HornbeamError.combining(problems) { throw error }
    }

    private func makeParent(of description: PersistentStoreDescription) throws {
        guard description.type == .onDisk, description.createsIfMissing, !description.isReadOnly,
            !FileManager.default.fileExists(atPath: description.url.path)
        else { return }
        let parent = description.url.deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        } catch {
            throw HornbeamError(
                .openFailed,
                "The folder of the store \(description.url.lastPathComponent) cannot be created. Check the path and "
                    + "its permissions.",
                cause: "\(error)")
        }
    }

    /// Closes the stores. Contexts must not be used afterwards. A second call waits until the stores are closed.
    ///
    /// - Throws: The first error of closing a store. Saved data is not affected.
    public func close() throws { try persistentStoreCoordinator.close() }

    /// The directory of stores without a URL (CON-7): on Apple's systems the application-support folder, elsewhere
    /// `XDG_DATA_HOME`, or `~/.local/share` if that is not set.
    public static func defaultDirectoryURL() -> URL {
        #if canImport(Darwin)
        return URL.applicationSupportDirectory
        #else
        let environment = ProcessInfo.processInfo.environment
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return URL(filePath: data) }
        return FileManager.default.homeDirectoryForCurrentUser.appending(path: ".local/share")
        #endif
    }
}

// MARK: Contexts

extension PersistentContainer {
    /// The context of the main actor (CON-4). It merges remote changes automatically.
    @MainActor public var viewContext: ManagedObjectContext {
        if let madeViewContext { return madeViewContext }
        let context = ManagedObjectContext(coordinator: persistentStoreCoordinator)
        context.name = "viewContext"
        context.role.isViewContext = true
        context.isObservable = true
        madeViewContext = context
        context.tracker.eventBegan = { [weak self] in
            Task { @MainActor in self?.madeViewContext?.endMainActorTurn() }
        }
        followSaves(context.merging.changeQueue)
        return context
    }

    /// Makes the view context merge each commit, so that its observers are notified without a call.
    @MainActor private func followSaves(_ changeQueue: ChangeQueue) {
        let isDue = Flag()
        changeQueue.setCommitHandler { [weak self] in
            guard isDue.raise() else { return }
            Task { @MainActor in
                isDue.lower()
                guard let context = self?.madeViewContext else { return }
                if context.mergesAutomatically { context.mergeAutomatically { try context.mergeChanges() } }
                context.endMainActorTurn()
            }
        }
    }

    /// A new context for the isolation of the caller.
    ///
    /// Reads and saves block the thread: call them on an actor with a `ContextExecutor`, or on your own thread.
    public func newContext() -> sending ManagedObjectContext {
        ManagedObjectContext(coordinator: persistentStoreCoordinator)
    }

    /// A context with a separate serial executor (CON-5).
    public func newBackgroundContext() -> BackgroundContext {
        let background = BackgroundContext(persistentStoreCoordinator)
        background.startMergingCommits()
        return background
    }

    /// Runs the body with a new context on a background thread (CON-6).
    ///
    /// Any number of tasks can be started; they share a limited number of threads.
    /// - Throws: The errors of the body; `CancellationError` if the task was cancelled before the body
    ///   began. A running body is not interrupted, except in fetches that wait for a server: these throw `CancellationError`.
    public func performBackgroundTask<Result: Sendable>(
        _ body: @escaping @Sendable (ManagedObjectContext) throws -> Result
    ) async throws -> Result {
        let isCancelled = Flag()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                WorkerThreads.tasks.enqueue { [self] in
                    guard !isCancelled.isRaised else {
                        return continuation.resume(throwing: CancellationError())
                    }
                    continuation.resume(
                        with: Swift.Result {
                            try StoreCancellation.working(forTaskThatIsCancelled: { isCancelled.isRaised }) { try self.performAndWait(body) }
                        })
                }
            }
        } onCancel: {
            _ = isCancelled.raise()
        }
    }

    /// Runs the body with a new context on the calling thread.
    public func performAndWait<Result: Sendable>(_ body: (ManagedObjectContext) throws -> Result) rethrows -> Result {
        let context = ManagedObjectContext(coordinator: persistentStoreCoordinator)
        return try body(context)
    }

    /// The commits of all contexts and processes from now on: IDs and changed keys (NOT-4).
    ///
    /// A slow reader loses no commit; see `ChangeSequence`. `history` contains earlier commits.
    public func changes() -> ChangeSequence { persistentStoreCoordinator.broadcast.sequence() }
}
