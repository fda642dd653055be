internal import HornbeamModel

/// The changed objects of a context, in the order in which they first changed, and by entity.
///
/// Objects that have no changes any more stay until they are the larger part, so that dropping them costs
/// nothing on average. Ask an object before relying on its being here.
struct TrackedObjects {
    private(set) var all: [ManagedObject] = []
    private var byEntity: [[ManagedObject]] = []
    /// How many of `all` are in `byEntity`, which nobody needs who only saves.
    private var grouped = 0
    private var idle = 0

    var isEmpty: Bool { all.isEmpty }

    mutating func append(_ object: ManagedObject) {
        object.state.insert(.tracked)
        all.append(object)
    }

    /// Those of all that fulfil a condition; costs little where all do.
    func objects(where isWanted: (ManagedObject) -> Bool) -> [ManagedObject] {
        all.allSatisfy(isWanted) ? all : all.filter(isWanted)
    }

    /// The changed objects of an entity and, if wanted, of those below it.
    mutating func objects(of entity: EntityDescription, andBelow: Bool = true) -> [ManagedObject] {
        while grouped < all.count {
            let entity = all[grouped].scope.entity.index
            while byEntity.count <= entity { byEntity.append([]) }
            byEntity[entity].append(all[grouped])
            grouped += 1
        }
        var found = entity.index < byEntity.count ? byEntity[entity.index] : []
        if andBelow {
            for subentity in entity.subentities { found += objects(of: subentity) }
        }
        return found
    }

    /// Notes that an object has no changes any more.
    mutating func noteIdle() {
        idle += 1
        if idle > 16, idle * 2 > all.count { compact() }
    }

    /// Drops the objects that have no changes.
    mutating func compact() {
        idle = 0
        if all.allSatisfy({ $0.hasChanges || $0.state.contains(.watched) }) { return }
        let kept = all.filter { $0.hasChanges || $0.state.contains(.watched) }
        for object in all where !object.hasChanges && !object.state.contains(.watched) {
            object.state.remove([.tracked, .stirred])
        }
        all = kept
        byEntity = []
        grouped = 0
    }

    mutating func removeAll() { self = TrackedObjects() }
}
