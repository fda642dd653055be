public import HornbeamModel

/// What happened in a context since it last told its observers.
struct PendingEvent {
    /// Objects that changed, each once.
    var touched: [ManagedObject] = []
    var inserted: [ManagedObject] = []
    var deleted: [ManagedObjectID] = []
    var refreshed: Set<ManagedObjectID> = []

    var isDue: Bool { !touched.isEmpty || !deleted.isEmpty || !refreshed.isEmpty }
}

/// Which objects a context changed, saved or took in: IDs only, so that it may go anywhere (NOT-1 … NOT-5).
public struct ObjectChanges: Hashable, Sendable {
    public var inserted: Set<ManagedObjectID>
    public var updated: Set<ManagedObjectID>
    public var deleted: Set<ManagedObjectID>
    /// Objects whose values were read anew.
    public var refreshed: Set<ManagedObjectID>
    /// Objects whose store was removed.
    public var invalidated: Set<ManagedObjectID>
    /// True when the context forgot all its objects.
    public var invalidatedAll: Bool
    /// The store's transaction, for saves; 0 for changes that are not saved yet.
    public var transaction: UInt64
    /// Who saved (MOC-28).
    public var author: String?
    /// The name of the context that saved (MOC-28).
    public var contextName: String?

    public init(
        inserted: Set<ManagedObjectID> = [], updated: Set<ManagedObjectID> = [],
        deleted: Set<ManagedObjectID> = [], refreshed: Set<ManagedObjectID> = [],
        invalidated: Set<ManagedObjectID> = [], invalidatedAll: Bool = false, transaction: UInt64 = 0, author: String? = nil,
        contextName: String? = nil
    ) {
        self.inserted = inserted
        self.updated = updated
        self.deleted = deleted
        self.refreshed = refreshed
        self.invalidated = invalidated
        self.invalidatedAll = invalidatedAll
        self.transaction = transaction
        self.author = author
        self.contextName = contextName
    }

    public var isEmpty: Bool {
        inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && invalidated.isEmpty
            && !invalidatedAll
    }
}
