internal import HornbeamModel
internal import HornbeamStore

// Parts of a context that are a few values each.

/// What the app sets on a context. Each is documented where the context makes it public.
struct ContextSettings {
    var mergePolicy: MergePolicy = .error
    var automaticallyMergesChangesFromParent = true
    var name: String?
    var transactionAuthor: String?
    var userInfo: [String: PropertyValue] = [:]
    var retainsRegisteredObjects = false
    var onMergeFailure: ((HornbeamError) -> Void)?
}

/// What kind of context it is; set where it is made.
struct ContextRole {
    /// True for the context of the main actor, whose observers may receive objects.
    var isViewContext = false
    /// True when new objects get permanent IDs at once, so that a closure can return the IDs.
    var givesPermanentIDs = false
    /// True while a migration writes incomplete objects; it validates them at its end.
    var skipsValidation = false
    /// True for the detached read-only context of a released context. It retains no object and no entity cache, so that its objects, which
    /// retain it, form no cycle with it.
    var isAfterlife = false
}

/// The save that is under way, and the one that is in doubt.
struct SaveState {
    var isSaving = false
    /// A save with an unknown outcome, until its store is opened again.
    var doubt: SaveDoubt?
}

/// Who is told of changes in memory.
struct ContextObservers {
    /// Called with changes in memory, until they return false.
    var listeners: [(ObjectChanges) -> Bool] = []
    /// The ends of change sequences.
    var mailboxes: [WeakMailbox] = []
    /// Notifies observers of properties; nil when observation is not available.
    var hub: ObservationHub?

    var isEmpty: Bool { listeners.isEmpty && mailboxes.isEmpty }
}

/// How the objects of a context are read: what was made ahead of its use, and what reading cost.
struct AccessState {
    /// Objects that a fetch prefetched.
    var prefetched: [ManagedObject] = []
    /// The pattern of object accesses.
    var readAhead = ReadAhead()
    /// Records where objects are read one at a time; nil unless tracking is on.
    var log: AccessLog?
    /// Rows that were looked up alone so far.
    var rowsLookedUp = 0
    /// The cost of fetches so far, without fired faults, which the scopes count.
    var costs = FetchCounters()
    /// The parts of a fetch that is reported as a whole; nil outside of one.
    var partsOfFetch: [FetchWork]?
}

/// The contexts that read through this one, and how far this one has followed its own parent.
struct ContextFamily {
    var children: [WeakContext] = []
    /// The parent's `edits` at this context's last check.
    var parentEditsSeen: UInt64 = 0
}
