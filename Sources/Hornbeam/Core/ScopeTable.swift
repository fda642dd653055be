internal import HornbeamModel
internal import HornbeamStore

/// The entity caches of a context, by entity and store, created on first use.
///
/// The positions in the table are ordered by store, then by the entity's index in the model. Safe: `stored` retains the entity cache of `lastOfID`.
@safe struct ScopeTable {
    private var stored: [EntityScope?] = []
    /// The entity caches for new objects without an assigned store, by the entity's index.
    private var ofNewObjects: [EntityScope?] = []
    /// Entity caches created while no store was open, kept separately because a store may be opened later.
    private var storeless: [EntityScope?] = []
    /// The entity cache of the last ID that was looked up, one of `stored`. Unmanaged, because a lookup by ID would count references otherwise.
    private var lastOfID: (origin: ObjectIdentifier, scope: Unmanaged<EntityScope>)?
    /// The lookup of objects by a unique value, as last used in the current snapshot.
    var uniqueRoute: UniqueRoute?

    subscript(place: Int) -> EntityScope? { place < stored.count ? stored[place] : nil }

    func ofNewObjects(at index: Int) -> EntityScope? { index < ofNewObjects.count ? ofNewObjects[index] : nil }

    func withoutStore(at place: Int) -> EntityScope? { place < storeless.count ? storeless[place] : nil }

    mutating func keep(_ scope: EntityScope, at place: Int) { Self.keep(scope, at: place, in: &stored) }

    mutating func keepForNewObjects(_ scope: EntityScope, at index: Int) { Self.keep(scope, at: index, in: &ofNewObjects) }

    mutating func keepWithoutStore(_ scope: EntityScope, at place: Int) { Self.keep(scope, at: place, in: &storeless) }

    /// Stores an entity cache at its position in a list, which grows as needed.
    private static func keep(_ scope: EntityScope, at place: Int, in scopes: inout [EntityScope?]) {
        if place >= scopes.count { scopes += repeatElement(nil, count: place + 1 - scopes.count) }
        assert(scopes[place] == nil, "A place keeps its scope.")
        scopes[place] = scope
    }

    /// After a store was removed, new objects may need another store.
    mutating func forgetThoseOfNewObjects() { ofNewObjects.removeAll() }

    /// The entity cache of the IDs with an origin; nil before the first object with that origin.
    mutating func scope(ofIDsFrom origin: ManagedObjectID.StoreIdentity) -> Unmanaged<EntityScope>? {
        if let lastOfID = unsafe lastOfID, unsafe lastOfID.origin == ObjectIdentifier(origin) { return unsafe lastOfID.scope }
        guard let scope = stored.first(where: { $0?.origin === origin }) ?? nil else { return nil }
        let unmanaged = unsafe Unmanaged.passUnretained(scope)
        unsafe lastOfID = unsafe (ObjectIdentifier(scope.origin), unmanaged)
        return unsafe unmanaged
    }

    /// Calls `body` for each entity cache of a store.
    func forEach(_ body: (EntityScope) -> Void) {
        for case let scope? in stored { body(scope) }
    }

    /// The number of fired faults.
    var faultsFired: Int { stored.reduce(0) { $0 + ($1?.faultsFired ?? 0) } }

    /// Called when the context switches to another snapshot.
    mutating func read(from snapshot: StackSnapshot?) {
        forEach { $0.read(from: snapshot) }
        uniqueRoute = nil
    }

    /// Called when the context is released; its objects then read from its last snapshot.
    func outlive(_ snapshot: StackSnapshot?) {
        for case let scope? in stored + storeless { scope.outlive(snapshot) }
    }
}
