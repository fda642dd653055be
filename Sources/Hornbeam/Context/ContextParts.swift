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
    /// True for the context that the main actor uses, whose observers may be told of objects.
    var isViewContext = false
    /// True where new objects have permanent IDs at once, so that a closure can return them.
    var givesPermanentIDs = false
    /// True while a migration writes objects that are not whole yet; it checks them at its end.
    var skipsValidation = false
    /// True for the reading end of a context that is gone. It keeps no object and no scope, so that the
    /// objects that keep it alive make no cycle with it.
    var isAfterlife = false
}

/// The save that is under way, and the one that is in doubt.
struct SaveState {
    var isSaving = false
    /// A save that may have reached the disk or not, until its store is opened again.
    var doubt: SaveDoubt?
}

/// Who is told of changes in memory.
struct ContextObservers {
    /// Called with what happens in memory, until they answer false.
    var listeners: [(ObjectChanges) -> Bool] = []
    /// The ends of change sequences.
    var mailboxes: [WeakMailbox] = []
    /// Tells observers of properties; nil where nobody may observe.
    var hub: ObservationHub?

    var isEmpty: Bool { listeners.isEmpty && mailboxes.isEmpty }
}

/// How the objects of a context are read: what was made ahead of its use, and what reading cost.
struct AccessState {
    /// Objects that a fetch made along with its results.
    var prefetched: [ManagedObject] = []
    /// What objects are touched one after another.
    var readAhead = ReadAhead()
    /// Where objects are read one at a time; nil unless that is tracked.
    var log: AccessLog?
    /// Rows that were looked up alone so far.
    var rowsLookedUp = 0
    /// What fetches cost so far; without the faults fired, which the scopes count.
    var costs = FetchCounters()
    /// What the parts of a fetch took that is reported as a whole; nil outside of one.
    var partsOfFetch: [FetchWork]?
}

/// The contexts that read through this one, and how far this one has followed its own parent.
struct ContextFamily {
    var children: [WeakContext] = []
    /// The parent's `edits` when this context last looked.
    var parentEditsSeen: UInt64 = 0
}
