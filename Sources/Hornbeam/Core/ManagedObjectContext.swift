internal import Foundation
public import HornbeamModel
internal import HornbeamStore

/// A working copy of objects: fetches them, keeps their changes private, and saves them together.
///
/// Use a context in the isolation in which it was created: `container.viewContext` on the main actor, the context of
/// `performBackgroundTask` in its closure, and a context that your actor creates in that actor. Neither
/// contexts nor their objects are `Sendable`, so the compiler prevents their use elsewhere.
///
/// Reads use one snapshot of the stores. At each fetch, count, save and merge, the context switches to the newest snapshot and merges
/// the changes of other contexts. It does not merge if `automaticallyMergesChangesFromParent` is false. While it is pinned, it does neither,
/// except after its own save and at a call of `mergeChanges()`.
///
/// A context may be released on any thread. Its objects can still be read afterwards, but not changed.
public final class ManagedObjectContext {
    /// The coordinator whose stores this context reads and writes.
    public let persistentStoreCoordinator: PersistentStoreCoordinator
    /// The context that this one reads from and saves into; nil if it saves into the stores (MOC-6).
    public let parent: ManagedObjectContext?

    // Accesses to the parts marked `unchecked` call no hook, observer or policy, so they cannot overlap with another access to the same part. The runtime
    // check of exclusive access is therefore omitted; it would run at every change and save of a single object.

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
    /// The last requests by shape.
    @safe @exclusivity(unchecked) var recentFetches = RecentFetches()
    /// Read failures that the next fetch, count and save throw.
    @safe @exclusivity(unchecked) var failures = ReadFailures()

    convenience init(coordinator: PersistentStoreCoordinator) { self.init(coordinator, parent: nil) }

    convenience init(parent: ManagedObjectContext) {
        self.init(parent.persistentStoreCoordinator, parent: parent)
        family.parentEditsSeen = parent.edits
    }

    private init(_ coordinator: PersistentStoreCoordinator, parent: ManagedObjectContext?) {
        persistentStoreCoordinator = coordinator
        self.parent = parent
        merging = MergeState(ChangeQueue(coordinator.broadcast, owner: coordinator.nextContextToken()))
        coordinator.broadcast.subscribe(merging.changeQueue)
    }

    init(coordinator: PersistentStoreCoordinator, detachedReaderOn snapshot: StackSnapshot?) {
        persistentStoreCoordinator = coordinator
        parent = nil
        merging = MergeState(ChangeQueue(coordinator.broadcast, owner: 0))
        role.isDetachedReader = true
        reading.move(to: snapshot)
    }

    deinit {
        guard !role.isDetachedReader else { return }
        persistentStoreCoordinator.broadcast.unsubscribe(merging.changeQueue)
        scopes.detachFromContext(snapshot)
    }
}

// MARK: Settings

extension ManagedObjectContext {
    /// Resolves conflicts with other saves of the same objects (MOC-27). The default is `.error`.
    public var mergePolicy: MergePolicy {
        get { settings.mergePolicy }
        set { settings.mergePolicy = newValue }
    }

    /// True if the context merges the saves of other contexts at the next fetch, count, save or merge (MOC-31).
    ///
    /// If false, objects that were read keep their values until they are refreshed. A save of such an object then
    /// conflicts with a save of another context.
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

    /// Values for the program's own use.
    public var userInfo: [String: PropertyValue] {
        get { settings.userInfo }
        // Not modified in place: the new value may be computed from other settings, and that access would overlap.
        set { settings.userInfo = newValue }
    }

    /// True if the context retains every object until `reset`, in use or not (MOC-16).
    public var retainsRegisteredObjects: Bool {
        get { settings.retainsRegisteredObjects }
        set { settings.retainsRegisteredObjects = newValue }
    }

    /// Called when an automatic merge of remote changes fails and no call can throw the error; see `lastMergeFailure`.
    ///
    /// The view context and its children merge automatically after each save. A `BackgroundContext` merges between two
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
    var token: UInt64 { merging.changeQueue.owner }

    /// Incremented by each change that a child can see.
    var edits: UInt64 { tracker.edits }

    /// The number of rows that were looked up alone.
    package var rowsLookedUp: Int { access.rowsLookedUp }

    /// The snapshot of the stores that this context reads; nil before the first read and after `reset`.
    var snapshot: StackSnapshot? {
        get { reading.snapshot }
        set {
            let isOther = reading.move(to: newValue)
            scopes.read(from: newValue)
            guard isOther else { return }
            tracker.objects.views.forget()
            recentFetches.forgetDirectFetches()
        }
    }

    /// The store stack of this context's snapshot.
    var stack: StoreStack { snapshot?.stack ?? persistentStoreCoordinator.stack }

    /// The snapshot from which properties are read: the current one, or else the newest.
    func readingSnapshot() throws -> StackSnapshot {
        if let snapshot { return snapshot }
        let fresh = try newestSnapshot()
        snapshot = fresh
        return fresh
    }

    /// The newest snapshot for this context: the parent's, or that of the stores.
    func newestSnapshot() throws -> StackSnapshot {
        if let parent { return try parent.readingSnapshot() }
        let stack = persistentStoreCoordinator.stack
        return try reading.isPinned ? stack.retain() : stack.snapshot()
    }

    /// True if this context merges remote changes automatically.
    var mergesAutomatically: Bool { automaticallyMergesChangesFromParent && !reading.isPinned }
}

@available(*, unavailable, message: "A context is confined to the isolation that made it. Pass the container, or IDs, instead.")
extension ManagedObjectContext: Sendable {}

extension ManagedObjectContext: CustomStringConvertible {
    public var description: String {
        "ManagedObjectContext(\(name ?? "unnamed"), \(registry.count) objects, \(tracker.objects.all.count) changed)"
    }
}
