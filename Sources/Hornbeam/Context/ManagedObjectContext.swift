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
    /// What to do when others saved the same objects meanwhile (MOC-27). `.error` at first.
    public var mergePolicy: MergePolicy = .error
    /// True when the saves of other contexts show here, at the next fetch, count, save or merge (MOC-31).
    ///
    /// When false, objects that were read keep their values until refreshed, and a save of theirs meets
    /// the other's as a conflict.
    public var automaticallyMergesChangesFromParent = true
    /// A name for messages and history (MOC-28).
    public var name: String?
    /// Who saves; recorded with each save until changed (MOC-28).
    public var transactionAuthor: String?
    /// Notes of the app.
    public var userInfo: [String: PropertyValue] = [:]
    /// True to keep every object until `reset`, used or not (MOC-16).
    public var retainsRegisteredObjects = false
    /// The coordinator whose stores this context reads and writes.
    public let persistentStoreCoordinator: PersistentStoreCoordinator
    /// The context that this one reads through and saves into; nil for one that saves into the stores (MOC-6).
    public let parent: ManagedObjectContext?

    // No access to the fields that are marked `unchecked` calls anything that could come back to them. So the check of exclusive access is
    // left out, which changes and saves of single objects would make again and again.

    /// Remembers changes so that `undo()` can take them back; nil, which is the default, remembers nothing (UND-1).
    @exclusivity(unchecked) public var undoStack: UndoStack?

    let inbox: ChangeInbox
    let token: UInt64
    let registry = ObjectRegistry()
    /// By store and by the entity's index in the model; made when first needed.
    @exclusivity(unchecked) var scopes: [EntityScope?] = []
    /// How the last object was found by a unique value, in the state that `snapshot` shows.
    var uniqueRoute: UniqueRoute?
    /// The scope of the last ID that was looked up, one of `scopes`, and whose origin that is.
    var scopeOfLastID: Unmanaged<EntityScope>?
    var originOfLastID: ObjectIdentifier?
    /// Those of new objects, by the entity's index: of the store into which they go unless they are told otherwise.
    @exclusivity(unchecked) var birthScopes: [EntityScope?] = []
    /// Scopes made while no store was open, in the same places as `scopes`.
    var storelessScopes: [EntityScope?] = []
    /// The state of the stores that reads see; nil before the first read and after `reset`.
    var snapshot: StackSnapshot? {
        didSet {
            for scope in scopes { scope?.read(from: snapshot) }
            stateRead = snapshot.map { StateRead($0) }
            uniqueRoute = nil
            if oldValue !== snapshot { tracked.views.forget() }
        }
    }
    /// What `snapshot` is the state of.
    private(set) var stateRead: StateRead?
    /// True while reads stay at one state until told otherwise (QGN-1).
    @exclusivity(unchecked) var isPinned = false
    /// True at a state that was not reached by taking in what was announced.
    @exclusivity(unchecked) var isAway = false
    /// Objects with changes, in the order in which they first changed.
    @exclusivity(unchecked) var tracked = TrackedObjects()
    /// What happened since the last `processPendingChanges`.
    @exclusivity(unchecked) var event = PendingEvent()
    /// Grows with everything that a child could see of this context.
    @exclusivity(unchecked) var edits: UInt64 = 0
    /// What could not be read; thrown by the next fetch, count and save.
    @exclusivity(unchecked) var failures = ReadFailures()
    /// Called when the context fails to take in what others saved where no call could throw the error; see `lastMergeFailure`.
    ///
    /// That is where the context follows the store by itself: the view context and its children, and a `BackgroundContext` between two
    /// calls. Called where the context is used.
    public var onMergeFailure: ((HornbeamError) -> Void)?
    /// Why the context could not take in what others saved when it last tried by itself; nil once it could.
    public internal(set) var lastMergeFailure: HornbeamError?
    /// Called with the first change of an event; the view context's has it settled when the main actor comes to rest.
    var eventBegan: (() -> Void)?
    @exclusivity(unchecked) var isSaving = false
    /// True where new objects have permanent IDs at once, so that a closure can return them.
    var givesPermanentIDs = false
    /// True for the context that the main actor uses, whose observers may be told of objects.
    var isViewContext = false
    /// True while a migration writes objects that are not whole yet; it checks them at its end.
    var skipsValidation = false
    /// Tells observers of properties; nil where nobody may observe.
    var hub: ObservationHub?
    /// Objects that a fetch made along with its results.
    var prefetched: [ManagedObject] = []
    /// What objects are touched one after another.
    var readAhead = ReadAhead()
    /// Where objects are read one at a time; nil unless that is tracked.
    var accessLog: AccessLog?
    /// Rows that were looked up alone so far.
    package var rowsLookedUp = 0
    /// Called with what happens in memory, until they answer false.
    @exclusivity(unchecked) var listeners: [(ObjectChanges) -> Bool] = []
    /// Those who follow what happens in memory.
    @exclusivity(unchecked) var mailboxes: [WeakMailbox] = []
    /// A save that may have reached the disk or not, until its store is opened again.
    @exclusivity(unchecked) var doubt: SaveDoubt?
    /// What the last successful save, and the merges before it, did with others' changes to the same objects.
    public internal(set) var lastMergeReport = MergeReport()
    /// What was merged since then.
    @exclusivity(unchecked) var mergeReport = MergeReport()
    /// New objects that stand for whichever object has their unique values.
    @exclusivity(unchecked) var upserted: Set<ObjectIdentifier> = []
    /// The contexts whose saves are taken in though this one does not follow.
    var observed: Set<UInt64> = []
    /// The contexts that read through this one.
    @exclusivity(unchecked) var children: [WeakContext] = []
    /// The parent's `edits` when this context last looked.
    var editsSeen: UInt64 = 0
    /// What fetches of this context cost so far; without the faults fired, which the scopes count.
    var fetchCosts = FetchCounters()
    /// What the parts of a fetch took that is reported as a whole; nil outside of one.
    var partsOfFetch: [FetchWork]?
    /// True for the reading end of a context that is gone. It keeps no object and no scope, so that the
    /// objects that keep it alive make no cycle with it.
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
        return try isPinned ? stack.retain() : stack.snapshot()
    }

    /// Names the state that a snapshot shows, so that knowing whether it is the newest one counts no reference.
    struct StateRead {
        let transaction: UInt64
        let stackAddress: UInt

        init(_ snapshot: StackSnapshot) {
            transaction = snapshot.transaction
            stackAddress = UInt(bitPattern: ObjectIdentifier(snapshot.stack))
        }
    }

    /// True when this context takes in what others save by itself.
    var follows: Bool { automaticallyMergesChangesFromParent && !isPinned }
}

@available(*, unavailable, message: "A context stays where it was made. Hand over the container, or IDs.")
extension ManagedObjectContext: Sendable {}

extension ManagedObjectContext: CustomStringConvertible {
    public var description: String {
        "ManagedObjectContext(\(name ?? "unnamed"), \(registry.count) objects, \(tracked.all.count) changed)"
    }
}
