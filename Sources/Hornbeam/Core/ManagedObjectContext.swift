internal import Foundation
public import HornbeamModel
internal import HornbeamStore

/// A working copy of objects: fetches them, keeps their changes private, and saves them together.
///
/// A context is used in the isolation in which it was created: `container.viewContext` on the main actor, the context that
/// `performBackgroundTask` passes to its closure, a context of your own inside your own actor. Neither
/// contexts nor their objects are `Sendable`, so the compiler prevents their use elsewhere.
///
/// Reads use one committed state of the store. The context switches to the newest state at each fetch, count, save and
/// merge, unless it is pinned, and then merges the changes of other contexts, unless
/// `automaticallyMergesChangesFromParent` is false.
///
/// A context may be released on any thread. Its objects can still be read afterwards, but not changed.
public final class ManagedObjectContext {
    /// The coordinator whose stores this context reads and writes.
    public let persistentStoreCoordinator: PersistentStoreCoordinator
    /// The context from which this one reads and into which it saves; nil for one that saves into the stores (MOC-6).
    public let parent: ManagedObjectContext?

    // Accesses to the parts marked `unchecked` call no hook, observer or policy, which could access the same part again. So they omit the runtime check of
    // exclusive access, which changes and saves of single objects would execute very often.

    /// Records changes for `undo()`. Nil, the default, records nothing (UND-1).
    @safe @exclusivity(unchecked) public var undoStack: UndoStack?

    var settings = ContextSettings()
    var role = ContextRole()
    @safe @exclusivity(unchecked) var reading = ReadState()
    let registry = ObjectRegistry()
    @safe @exclusivity(unchecked) var scopes = ScopeTable()
    @safe @exclusivity(unchecked) var tracker = ChangeTracker()
    @safe @exclusivity(unchecked) var merging: MergeState
    @safe @exclusivity(unchecked) var saving = SaveState()
    @safe @exclusivity(unchecked) var observers = ContextObservers()
    @safe @exclusivity(unchecked) var family = ContextFamily()
    var access = AccessState()
    /// Read failures, thrown by the next fetch, count and save.
    @safe @exclusivity(unchecked) var failures = ReadFailures()

    convenience init(coordinator: PersistentStoreCoordinator) { self.init(coordinator, parent: nil) }

    convenience init(parent: ManagedObjectContext) {
        self.init(parent.persistentStoreCoordinator, parent: parent)
        family.parentEditsSeen = parent.edits
    }

    private init(_ coordinator: PersistentStoreCoordinator, parent: ManagedObjectContext?) {
        persistentStoreCoordinator = coordinator
        self.parent = parent
        merging = MergeState(ChangeInbox(coordinator.broadcast, owner: coordinator.nextContextToken()))
        coordinator.broadcast.subscribe(merging.inbox)
    }

    init(coordinator: PersistentStoreCoordinator, afterlifeOn snapshot: StackSnapshot?) {
        persistentStoreCoordinator = coordinator
        parent = nil
        merging = MergeState(ChangeInbox(coordinator.broadcast, owner: 0))
        role.isAfterlife = true
        reading.move(to: snapshot)
    }

    deinit {
        guard !role.isAfterlife else { return }
        persistentStoreCoordinator.broadcast.unsubscribe(merging.inbox)
        scopes.outlive(snapshot)
    }
}

// MARK: Settings

extension ManagedObjectContext {
    /// Resolves conflicts with other saves of the same objects (MOC-27). The default is `.error`.
    public var mergePolicy: MergePolicy {
        get { settings.mergePolicy }
        set { settings.mergePolicy = newValue }
    }

    /// True when the context merges the saves of other contexts at the next fetch, count, save or merge (MOC-31).
    ///
    /// When false, objects that were read keep their values until they are refreshed, and their save
    /// conflicts with the other one.
    public var automaticallyMergesChangesFromParent: Bool {
        get { settings.automaticallyMergesChangesFromParent }
        set { settings.automaticallyMergesChangesFromParent = newValue }
    }

    /// A name for messages and history (MOC-28).
    public var name: String? {
        get { settings.name }
        set { settings.name = newValue }
    }

    /// The author of saves, recorded with each save (MOC-28).
    public var transactionAuthor: String? {
        get { settings.transactionAuthor }
        set { settings.transactionAuthor = newValue }
    }

    /// Notes of the app.
    public var userInfo: [String: PropertyValue] {
        get { settings.userInfo }
        // Not in place: the new value may be computed from other settings.
        set { settings.userInfo = newValue }
    }

    /// True to keep every object until `reset`, in use or not (MOC-16).
    public var retainsRegisteredObjects: Bool {
        get { settings.retainsRegisteredObjects }
        set { settings.retainsRegisteredObjects = newValue }
    }

    /// Called when an automatic merge of remote changes fails and no call can throw the error; see `lastMergeFailure`.
    ///
    /// The view context and its children merge automatically, and so does a `BackgroundContext` between two
    /// calls. Called in the isolation of the context.
    public var onMergeFailure: ((HornbeamError) -> Void)? {
        get { settings.onMergeFailure }
        set { settings.onMergeFailure = newValue }
    }

    /// The error of the last automatic merge; nil after a successful one.
    public var lastMergeFailure: HornbeamError? { merging.lastFailure }

    /// The resolution of conflicts in the last successful save and the merges before it.
    public var lastMergeReport: MergeReport { merging.lastReport }
}

// MARK: The state that is read

extension ManagedObjectContext {
    /// Identifies the context in published commits.
    var token: UInt64 { merging.inbox.owner }

    /// Incremented by each change that a child can see.
    var edits: UInt64 { tracker.edits }

    /// The number of rows that were looked up alone.
    package var rowsLookedUp: Int { access.rowsLookedUp }

    /// The snapshot of the stores that is read; nil before the first read and after `reset`.
    var snapshot: StackSnapshot? {
        get { reading.snapshot }
        set {
            let isOther = reading.move(to: newValue)
            scopes.read(from: newValue)
            if isOther { tracker.objects.views.forget() }
        }
    }

    /// The store stack of this context's snapshot.
    var stack: StoreStack { snapshot?.stack ?? persistentStoreCoordinator.stack }

    /// The snapshot from which properties are read. Keeps an existing one.
    func readingSnapshot() throws -> StackSnapshot {
        if let snapshot { return snapshot }
        let fresh = try newestSnapshot()
        snapshot = fresh
        return fresh
    }

    /// The newest state for this context: the parent's, or that of the stores.
    func newestSnapshot() throws -> StackSnapshot {
        if let parent { return try parent.readingSnapshot() }
        let stack = persistentStoreCoordinator.stack
        return try reading.isPinned ? stack.retain() : stack.snapshot()
    }

    /// True when this context merges remote changes automatically.
    var follows: Bool { automaticallyMergesChangesFromParent && !reading.isPinned }
}

@available(*, unavailable, message: "A context stays where it was made. Hand over the container, or IDs.")
extension ManagedObjectContext: Sendable {}

extension ManagedObjectContext: CustomStringConvertible {
    public var description: String {
        "ManagedObjectContext(\(name ?? "unnamed"), \(registry.count) objects, \(tracker.objects.all.count) changed)"
    }
}
