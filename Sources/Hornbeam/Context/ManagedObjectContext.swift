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
    /// Resolves conflicts with other saves of the same objects (MOC-27). The default is `.error`.
    public var mergePolicy: MergePolicy = .error
    /// True when the context merges the saves of other contexts at the next fetch, count, save or merge (MOC-31).
    ///
    /// When false, objects that were read keep their values until they are refreshed, and their save
    /// conflicts with the other one.
    public var automaticallyMergesChangesFromParent = true
    /// A name for messages and history (MOC-28).
    public var name: String?
    /// The author of saves, recorded with each save (MOC-28).
    public var transactionAuthor: String?
    /// Notes of the app.
    public var userInfo: [String: PropertyValue] = [:]
    /// True to keep every object until `reset`, in use or not (MOC-16).
    public var retainsRegisteredObjects = false
    /// The coordinator whose stores this context reads and writes.
    public let persistentStoreCoordinator: PersistentStoreCoordinator
    /// The context from which this one reads and into which it saves; nil for one that saves into the stores (MOC-6).
    public let parent: ManagedObjectContext?

    // Accesses to the fields marked `unchecked` call no code that could access the same field again. So they omit the runtime check of exclusive
    // access, which changes and saves of single objects would execute very often.

    /// Records changes for `undo()`. Nil, the default, records nothing (UND-1).
    @exclusivity(unchecked) public var undoStack: UndoStack?

    let inbox: ChangeInbox
    let token: UInt64
    let registry = ObjectRegistry()
    /// By store and by the entity's index in the model; created on first use.
    @exclusivity(unchecked) var scopes: [EntityScope?] = []
    /// The lookup of objects by a unique value, as last used in the state of `snapshot`.
    var uniqueRoute: UniqueRoute?
    /// The entity cache of the last ID that was looked up, one of `scopes`.
    var scopeOfLastID: Unmanaged<EntityScope>?
    var originOfLastID: ObjectIdentifier?
    /// The entity caches for new objects without an assigned store, by the entity's index.
    @exclusivity(unchecked) var birthScopes: [EntityScope?] = []
    /// Entity caches created while no store was open, at the same positions as in `scopes`.
    var storelessScopes: [EntityScope?] = []
    /// The snapshot of the stores that is read; nil before the first read and after `reset`.
    var snapshot: StackSnapshot? {
        didSet {
            for scope in scopes { scope?.read(from: snapshot) }
            stateRead = snapshot.map { StateRead($0) }
            uniqueRoute = nil
            if oldValue !== snapshot { tracked.views.forget() }
        }
    }
    /// Identifies the state of `snapshot`.
    private(set) var stateRead: StateRead?
    /// True while reads stay at one state (QGN-1).
    @exclusivity(unchecked) var isPinned = false
    /// True when the change queue does not lead from this context's snapshot to the newest.
    @exclusivity(unchecked) var isAway = false
    /// Objects with changes, in the order in which they first changed.
    @exclusivity(unchecked) var tracked = TrackedObjects()
    /// The changes since the last `processPendingChanges`.
    @exclusivity(unchecked) var event = PendingEvent()
    /// Incremented by each change that a child can see.
    @exclusivity(unchecked) var edits: UInt64 = 0
    /// Read failures, thrown by the next fetch, count and save.
    @exclusivity(unchecked) var failures = ReadFailures()
    /// Called when an automatic merge of remote changes fails and no call can throw the error; see `lastMergeFailure`.
    ///
    /// The view context and its children merge automatically, and so does a `BackgroundContext` between two
    /// calls. Called in the isolation of the context.
    public var onMergeFailure: ((HornbeamError) -> Void)?
    /// The error of the last automatic merge; nil after a successful one.
    public internal(set) var lastMergeFailure: HornbeamError?
    /// Called at the first change of an event. The view context schedules the processing at the end of the main actor's turn.
    var eventBegan: (() -> Void)?
    @exclusivity(unchecked) var isSaving = false
    /// True when new objects get permanent IDs at once, so that a closure can return the IDs.
    var givesPermanentIDs = false
    /// True for the context of the main actor, whose observers may receive objects.
    var isViewContext = false
    /// True while a migration writes incomplete objects; it validates them at its end.
    var skipsValidation = false
    /// Notifies observers of properties; nil when observation is not available.
    var hub: ObservationHub?
    /// Objects that a fetch prefetched.
    var prefetched: [ManagedObject] = []
    /// The pattern of object accesses.
    var readAhead = ReadAhead()
    /// Records where objects are read one at a time; nil unless tracking is on.
    var accessLog: AccessLog?
    /// The number of rows that were looked up alone.
    package var rowsLookedUp = 0
    /// Called with changes in memory, until they return false.
    @exclusivity(unchecked) var listeners: [(ObjectChanges) -> Bool] = []
    /// Subscribers to changes in memory.
    @exclusivity(unchecked) var mailboxes: [WeakMailbox] = []
    /// A save with an unknown outcome, until its store is opened again.
    @exclusivity(unchecked) var doubt: SaveDoubt?
    /// The resolution of conflicts in the last successful save and the merges before it.
    public internal(set) var lastMergeReport = MergeReport()
    /// The merges since then.
    @exclusivity(unchecked) var mergeReport = MergeReport()
    /// New objects that represent any stored object with the same unique values.
    @exclusivity(unchecked) var upserted: Set<ObjectIdentifier> = []
    /// The contexts whose saves are merged although this context does not merge automatically.
    var observed: Set<UInt64> = []
    /// The child contexts.
    @exclusivity(unchecked) var children: [WeakContext] = []
    /// The parent's `edits` at this context's last check.
    var editsSeen: UInt64 = 0
    /// The cost of this context's fetches, without fired faults, which the entity caches count.
    var fetchCosts = FetchCounters()
    /// The parts of a fetch that is reported as a whole; nil outside of one.
    var partsOfFetch: [FetchWork]?
    /// True for the detached read-only context of a released context. It retains no object and no entity cache, so that its objects, which
    /// retain it, form no cycle with it.
    let isAfterlife: Bool

    convenience init(coordinator: PersistentStoreCoordinator) { self.init(coordinator, parent: nil) }

    convenience init(parent: ManagedObjectContext) {
        self.init(parent.persistentStoreCoordinator, parent: parent)
        editsSeen = parent.edits
    }

    private init(_ coordinator: PersistentStoreCoordinator, parent: ManagedObjectContext?) {
        persistentStoreCoordinator = coordinator
        self.parent = parent
        token = coordinator.nextContextToken()
        inbox = ChangeInbox(coordinator.broadcast, owner: token)
        isAfterlife = false
        coordinator.broadcast.subscribe(inbox)
    }

    init(coordinator: PersistentStoreCoordinator, afterlifeOn snapshot: StackSnapshot?) {
        persistentStoreCoordinator = coordinator
        parent = nil
        token = 0
        inbox = ChangeInbox(coordinator.broadcast, owner: token)
        isAfterlife = true
        self.snapshot = snapshot
        stateRead = snapshot.map { StateRead($0) }
    }

    deinit {
        guard !isAfterlife else { return }
        persistentStoreCoordinator.broadcast.unsubscribe(inbox)
        for scope in scopes + storelessScopes { scope?.outlive(snapshot) }
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
        return try isPinned ? stack.retain() : stack.snapshot()
    }

    /// Identifies the state of a snapshot, so that the check for a newer one needs no reference counting.
    struct StateRead {
        let transaction: UInt64
        let stackAddress: UInt

        init(_ snapshot: StackSnapshot) {
            transaction = snapshot.transaction
            stackAddress = UInt(bitPattern: ObjectIdentifier(snapshot.stack))
        }
    }

    /// True when this context merges remote changes automatically.
    var follows: Bool { automaticallyMergesChangesFromParent && !isPinned }
}

@available(*, unavailable, message: "A context stays where it was made. Hand over the container, or IDs.")
extension ManagedObjectContext: Sendable {}

extension ManagedObjectContext: CustomStringConvertible {
    public var description: String {
        "ManagedObjectContext(\(name ?? "unnamed"), \(registry.count) objects, \(tracked.all.count) changed)"
    }
}
