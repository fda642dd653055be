internal import Foundation
public import HornbeamModel
internal import HornbeamStore

/// A scratch pad over the stores: fetches objects, keeps their changes to itself, and saves them together.
///
/// A context is used where it was made: `container.viewContext` on the main actor, the context that
/// `performBackgroundTask` lends for the time of the closure, one of your own inside your own actor. Neither
/// contexts nor their objects are `Sendable`, and the compiler refuses to let them cross.
///
/// Reads see one committed state of the store, which moves to the newest at each fetch, count, save and
/// merge, unless the context is pinned. What other contexts save arrives then too (merge on save), unless
/// `automaticallyMergesChangesFromParent` is false.
///
/// A context may be released on any thread. Objects that outlive it can be read, and not be changed.
public final class ManagedObjectContext {
    /// The coordinator whose stores this context reads and writes.
    public let persistentStoreCoordinator: PersistentStoreCoordinator
    /// The context that this one reads through and saves into; nil for one that saves into the stores (MOC-6).
    public let parent: ManagedObjectContext?

    // No access to the parts that are marked `unchecked` calls anything that could come back to the same part. So the check of exclusive
    // access is left out, which changes and saves of single objects would make again and again.

    /// Remembers changes so that `undo()` can take them back; nil, which is the default, remembers nothing (UND-1).
    @exclusivity(unchecked) public var undoStack: UndoStack?

    var settings = ContextSettings()
    var role = ContextRole()
    @exclusivity(unchecked) var reading = ReadState()
    let registry = ObjectRegistry()
    @exclusivity(unchecked) var scopes = ScopeTable()
    @exclusivity(unchecked) var tracker = ChangeTracker()
    @exclusivity(unchecked) var merging: MergeState
    @exclusivity(unchecked) var saving = SaveState()
    @exclusivity(unchecked) var observers = ContextObservers()
    @exclusivity(unchecked) var family = ContextFamily()
    var access = AccessState()
    /// What could not be read; thrown by the next fetch, count and save.
    @exclusivity(unchecked) var failures = ReadFailures()

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
    /// What to do when others saved the same objects meanwhile (MOC-27). `.error` at first.
    public var mergePolicy: MergePolicy {
        get { settings.mergePolicy }
        set { settings.mergePolicy = newValue }
    }

    /// True when the saves of other contexts show here, at the next fetch, count, save or merge (MOC-31).
    ///
    /// When false, objects that were read keep their values until refreshed, and a save of theirs meets
    /// the other's as a conflict.
    public var automaticallyMergesChangesFromParent: Bool {
        get { settings.automaticallyMergesChangesFromParent }
        set { settings.automaticallyMergesChangesFromParent = newValue }
    }

    /// A name for messages and history (MOC-28).
    public var name: String? {
        get { settings.name }
        set { settings.name = newValue }
    }

    /// Who saves; recorded with each save until changed (MOC-28).
    public var transactionAuthor: String? {
        get { settings.transactionAuthor }
        set { settings.transactionAuthor = newValue }
    }

    /// Notes of the app.
    public var userInfo: [String: PropertyValue] {
        get { settings.userInfo }
        _modify { yield &settings.userInfo }
    }

    /// True to keep every object until `reset`, used or not (MOC-16).
    public var retainsRegisteredObjects: Bool {
        get { settings.retainsRegisteredObjects }
        set { settings.retainsRegisteredObjects = newValue }
    }

    /// Called when the context fails to take in what others saved where no call could throw the error; see `lastMergeFailure`.
    ///
    /// That is where the context follows the store by itself: the view context and its children, and a `BackgroundContext` between two
    /// calls. Called where the context is used.
    public var onMergeFailure: ((HornbeamError) -> Void)? {
        get { settings.onMergeFailure }
        set { settings.onMergeFailure = newValue }
    }

    /// Why the context could not take in what others saved when it last tried by itself; nil once it could.
    public var lastMergeFailure: HornbeamError? { merging.lastFailure }

    /// What the last successful save, and the merges before it, did with others' changes to the same objects.
    public var lastMergeReport: MergeReport { merging.lastReport }
}

// MARK: The state that is read

extension ManagedObjectContext {
    /// Names the context in commits that are announced.
    var token: UInt64 { merging.inbox.owner }

    /// Grows with everything that a child could see of this context.
    var edits: UInt64 { tracker.edits }

    /// Rows that were looked up alone so far.
    package var rowsLookedUp: Int { access.rowsLookedUp }

    /// The state of the stores that reads see; nil before the first read and after `reset`.
    var snapshot: StackSnapshot? {
        get { reading.snapshot }
        set {
            let isOther = reading.move(to: newValue)
            scopes.read(from: newValue)
            if isOther { tracker.objects.views.forget() }
        }
    }

    /// The stores as this context sees them.
    var stack: StoreStack { snapshot?.stack ?? persistentStoreCoordinator.stack }

    /// The snapshot that properties are read from. Never moves an existing one.
    func readingSnapshot() throws -> StackSnapshot {
        if let snapshot { return snapshot }
        let fresh = try newestSnapshot()
        snapshot = fresh
        return fresh
    }

    /// The state that this context would move to now: the parent's, or the newest of the stores.
    func newestSnapshot() throws -> StackSnapshot {
        if let parent { return try parent.readingSnapshot() }
        let stack = persistentStoreCoordinator.stack
        return try reading.isPinned ? stack.retain() : stack.snapshot()
    }

    /// True when this context takes in what others save by itself.
    var follows: Bool { automaticallyMergesChangesFromParent && !reading.isPinned }
}

@available(*, unavailable, message: "A context stays where it was made. Hand over the container, or IDs.")
extension ManagedObjectContext: Sendable {}

extension ManagedObjectContext: CustomStringConvertible {
    public var description: String {
        "ManagedObjectContext(\(name ?? "unnamed"), \(registry.count) objects, \(tracker.objects.all.count) changed)"
    }
}
