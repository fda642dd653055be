internal import HornbeamModel
internal import HornbeamStore

// Objects that will be needed are made together, with the places of their rows looked up in one go: those that a request names,
// and those that the way of touching objects lets expect.

extension ManagedObjectContext {
    /// Makes the objects at the end of key paths along with those of a fetch (FET-11). They stay until the next such fetch or the end
    /// of the event.
    func prefetch(_ request: FetchDescription, for objects: [ManagedObject]) {
        access.prefetched.removeAll()
        for path in request.relationshipKeyPathsForPrefetching {
            var level = objects
            for name in path.split(separator: ".") {
                level = destinations(of: level, along: String(name))
                access.prefetched += level
            }
        }
    }

    private func destinations(of objects: [ManagedObject], along name: String) -> [ManagedObject] {
        var ids: [ManagedObjectID] = []
        var seen: Set<ManagedObjectID> = []
        for object in objects {
            guard let property = object.scope.entity.relationshipsByName[name] else { continue }
            if property.isToMany {
                ids += object.members(of: property).filter { seen.insert($0).inserted }
            } else if case .objectID(let id) = object.currentValue(of: property), seen.insert(id).inserted {
                ids.append(id)
            }
        }
        return self.objects(with: ids)
    }

    /// An object's to-one relationship led to an object whose row was not looked up yet.
    ///
    /// After a few of the same kind in a row, the destinations of the neighbours are made too: whoever walks objects of one fetch
    /// and touches what they point at will come to them.
    func noteStep(from object: ManagedObject, along property: PropertyDescription, to destination: ManagedObject) {
        access.log?.lastStep = (destination.key, property)
        guard access.log == nil, parent == nil, !role.isAfterlife else { return }
        guard access.readAhead.countStep(along: property) else { return }
        var ids: [ManagedObjectID] = []
        for neighbour in registry.neighbours(after: object.registryKey, limit: ReadAhead.width) where neighbour.scope === object.scope {
            guard case .objectID(let id) = neighbour.currentValue(of: property), !id.isTemporaryID else { continue }
            ids.append(id)
        }
        if !ids.isEmpty { access.readAhead.made = objects(with: ids) }
    }
}

extension ManagedObjectContext {
    /// Lets go of what was made ahead of its use.
    func forgetAhead() {
        access.prefetched.removeAll()
        access.readAhead = ReadAhead()
    }

    /// A fault's row is looked up alone.
    func noteLookUp(of object: ManagedObject) {
        access.rowsLookedUp += 1
        access.log?.note(object)
    }
}

/// Whether the way of touching objects lets expect what comes next.
struct ReadAhead {
    /// The neighbours looked at.
    static let width = 64
    private static let patience = 3

    private var property: ObjectIdentifier?
    private var steps = 0
    /// What was made last; held, so that it is still there when it is come to.
    var made: [ManagedObject] = []

    /// Counts a step; true when it is one of several of the same kind.
    mutating func countStep(along property: PropertyDescription) -> Bool {
        if self.property != ObjectIdentifier(property) {
            self.property = ObjectIdentifier(property)
            steps = 0
        }
        steps += 1
        return steps > Self.patience
    }
}

extension ManagedObject {
    /// True when reading the object takes no look-up of its row.
    final var isPlaceKnown: Bool { !isFault || scope.cells?.knows(hint) == true }
}
