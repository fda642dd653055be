internal import HornbeamModel
internal import HornbeamStore

// The small parts of a context.

/// The settings of a context that a program can change. `ManagedObjectContext` documents each.
struct ContextSettings {
    var mergePolicy: MergePolicy = .error
    var automaticallyMergesChangesFromParent = true
    var name: String?
    var transactionAuthor: String?
    var userInfo: [String: PropertyValue] = [:]
    var retainsRegisteredObjects = false
    var onMergeFailure: ((HornbeamError) -> Void)?
}

/// The role of a context, set at its creation.
struct ContextRole {
    /// True for the context of the main actor. Its observers may receive objects.
    var isViewContext = false
    /// True if new objects get permanent IDs immediately, so that a closure can return the IDs.
    var givesPermanentIDs = false
    /// True while a migration writes incomplete objects. The migration validates them at its end.
    var skipsValidation = false
    /// True for the detached read-only context of a released context. It retains no object and no entity cache: its objects
    /// retain it, and a cycle would never be freed.
    var isDetachedReader = false
}

/// The running save, and the in-doubt save.
struct SaveState {
    var isSaving = false
    /// Called when the changes are valid, before they are written. If it throws, nothing is written.
    var beforeWrite: (() throws -> Void)?
    /// A save with an unknown outcome, until its store is opened again.
    var doubt: InDoubtChanges?
}

/// Changes in the memory of a context, for fetched results.
struct ContextEvent {
    let changes: ObjectChanges
    /// The entities, by index, of changed objects that are not registered and that `changes` does not list. Nil if `changes` may be incomplete
    /// in any other way, so that the results must be fetched again.
    let unlistedEntities: Set<Int32>?
}

/// The subscribers to changes in memory.
struct ContextObservers {
    /// Called with changes in memory, until they return false.
    var listeners: [(ContextEvent) -> Bool] = []
    /// True if a save changed objects by resolving conflicts. The next event does not list these objects.
    var hasUnlistedChanges = false
    /// The subscribers of change sequences, one for each sequence.
    var subscribers: [WeakSubscriber] = []
    /// Notifies observers of properties; nil if observation is not available.
    var hub: ObservationHub?
    /// True while the listeners are called. Meanwhile, `listeners` contains only those that were added during the calls.
    var isNotifying = false
    /// Changes that the listeners have not received yet.
    var queue: [ContextEvent] = []

    var isEmpty: Bool { listeners.isEmpty && subscribers.isEmpty && !isNotifying }
}

/// The state of reading objects: objects created ahead of their use, and the cost of reading.
struct AccessState {
    /// Objects that a fetch prefetched.
    var prefetched: [ManagedObject] = []
    /// The pattern of object accesses, for read-ahead.
    var readAhead = ReadAhead()
    /// Counts lookups of single objects; nil unless tracking is on.
    var log: AccessLog?
    /// The number of rows that were looked up alone.
    var rowsLookedUp = 0
    /// The cost of fetches so far. Fired faults are not in it; each entity cache counts its own.
    var costs = FetchCounters()
    /// The parts of a fetch that is reported as a whole; nil outside such a fetch.
    var partsOfFetch: [FetchWork]?
}

/// The child contexts, and how far this context has merged the changes of its parent.
struct ContextFamily {
    var children: [WeakContext] = []
    /// The parent's `edits` at this context's last merge with it.
    var parentEditsSeen: UInt64 = 0
}
