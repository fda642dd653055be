internal import HornbeamModel
internal import HornbeamStore

/// What the objects of a context share, by entity and store; made when first needed.
///
/// Places in the table are numbered store by store, by the entity's index in the model.
struct ScopeTable {
    private var stored: [EntityScope?] = []
    /// The scopes of new objects without an assigned store, by the entity's index.
    private var ofNewObjects: [EntityScope?] = []
    /// Scopes made while no store was open. A store may come, so they are kept apart from the others.
    private var storeless: [EntityScope?] = []
    /// The scope of the last ID that was looked up, one of `stored`. Unmanaged, since a look-up by ID would count references otherwise.
    private var lastOfID: (origin: ObjectIdentifier, scope: Unmanaged<EntityScope>)?
    /// The lookup of objects by a unique value, as last used in the state that the scopes read.
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

    /// A store was removed: new objects may go into another one now.
    mutating func forgetThoseOfNewObjects() { ofNewObjects.removeAll() }

    /// The scope whose IDs have an origin; nil when no object of it was met yet.
    mutating func scope(ofIDsFrom origin: ManagedObjectID.Origin) -> Unmanaged<EntityScope>? {
        if let lastOfID, lastOfID.origin == ObjectIdentifier(origin) { return lastOfID.scope }
        guard let scope = stored.first(where: { $0?.origin === origin }) ?? nil else { return nil }
        let unmanaged = Unmanaged.passUnretained(scope)
        lastOfID = (ObjectIdentifier(scope.origin), unmanaged)
        return unmanaged
    }

    /// Calls `body` for each scope of a store.
    func forEach(_ body: (EntityScope) -> Void) {
        for case let scope? in stored { body(scope) }
    }

    /// How many faults were fired.
    var faultsFired: Int { stored.reduce(0) { $0 + ($1?.faultsFired ?? 0) } }

    /// The context reads from another snapshot now.
    mutating func read(from snapshot: StackSnapshot?) {
        forEach { $0.read(from: snapshot) }
        uniqueRoute = nil
    }

    /// The context goes; objects that stay read from its last snapshot.
    func outlive(_ snapshot: StackSnapshot?) {
        for case let scope? in stored + storeless { scope.outlive(snapshot) }
    }
}
