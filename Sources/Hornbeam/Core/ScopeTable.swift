internal import HornbeamModel
internal import HornbeamStore

/// The entity caches of a context, by entity and store, created on first use.
///
/// The positions in the table are ordered by store, then by the entity's index in the model. Safe: `stored` retains the entity cache of `lastOfID`.
@safe struct ScopeTable {
    private var stored: [EntityScope?] = []
    /// The entity caches for new objects without an assigned store, by the entity's index.
    private var ofNewObjects: [EntityScope?] = []
    /// The entity caches created while no store was open. They are separate because a store may be opened later.
    private var storeless: [EntityScope?] = []
    /// The entity cache of the last ID that was looked up, one of `stored`. Unmanaged, so that a lookup by ID counts no references.
    private var lastOfID: (origin: ObjectIdentifier, scope: Unmanaged<EntityScope>)?
    /// The last used lookup by a unique value, for the current snapshot.
    var uniqueRoute: UniqueRoute?

    subscript(place: Int) -> EntityScope? { place < stored.count ? stored[place] : nil }

    func ofNewObjects(at index: Int) -> EntityScope? { index < ofNewObjects.count ? ofNewObjects[index] : nil }

    func withoutStore(at place: Int) -> EntityScope? { place < storeless.count ? storeless[place] : nil }

    mutating func addScope(_ scope: EntityScope, at place: Int) { Self.addScope(scope, at: place, in: &stored) }

    mutating func addScopeForNewObjects(_ scope: EntityScope, at index: Int) { Self.addScope(scope, at: index, in: &ofNewObjects) }

    mutating func addScopeWithoutStore(_ scope: EntityScope, at place: Int) { Self.addScope(scope, at: place, in: &storeless) }

    /// Stores an entity cache at a position of a list. The list grows as needed.
    private static func addScope(_ scope: EntityScope, at place: Int, in scopes: inout [EntityScope?]) {
        if place >= scopes.count { scopes += repeatElement(nil, count: place + 1 - scopes.count) }
        assert(scopes[place] == nil, "The position has an entity cache already.")
        scopes[place] = scope
    }

    /// Called after a store was removed, because new objects may then belong to another store.
    mutating func removeScopesOfNewObjects() { ofNewObjects.removeAll() }

    /// The entity cache for IDs with a store identity; nil before the first object with such an ID.
    mutating func scope(ofIDsFrom origin: ManagedObjectID.StoreIdentity) -> Unmanaged<EntityScope>? {
        if let lastOfID = unsafe lastOfID, unsafe lastOfID.origin == ObjectIdentifier(origin) { return unsafe lastOfID.scope }
        guard let scope = stored.first(where: { $0?.origin === origin }) ?? nil else { return nil }
        let unmanaged = unsafe Unmanaged.passUnretained(scope)
        unsafe lastOfID = unsafe (ObjectIdentifier(scope.origin), unmanaged)
        return unsafe unmanaged
    }

    /// Calls `body` for each entity cache that belongs to a store.
    func forEach(_ body: (EntityScope) -> Void) {
        for case let scope? in stored { body(scope) }
    }

    /// The number of rows in the tables that the context reads.
    var rowCount: Int { stored.reduce(0) { $0 + ($1?.cells?.rowCount ?? 0) } }

    /// The number of fired faults.
    var faultsFired: Int { stored.reduce(0) { $0 + ($1?.faultsFired ?? 0) } }

    /// Called when the context switches to another snapshot.
    mutating func read(from snapshot: StackSnapshot?) {
        forEach { $0.read(from: snapshot) }
        uniqueRoute = nil
    }

    /// Called when the context is released. Its objects then read from its last snapshot.
    func detachFromContext(_ snapshot: StackSnapshot?) {
        for case let scope? in stored + storeless { scope.detachFromContext(snapshot) }
    }
}
