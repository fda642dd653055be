internal import HornbeamModel
internal import HornbeamStore

// Prefetching and read-ahead: objects that will probably be used are created together, and their rows are located in
// one pass. A request names the relationships of such objects, or the order of accesses predicts them.

extension ManagedObjectContext {
    /// Creates the objects at the end of key paths together with those of a fetch (FET-11). The context retains them until the next fetch with
    /// prefetching, or the end of the event.
    ///
    /// - Throws: The error of a store that answers queries itself.
    func prefetch(_ request: FetchDescription, for objects: [ManagedObject]) throws {
        releasePrefetched()
        for path in request.relationshipKeyPathsForPrefetching {
            var level = objects
            for name in path.split(separator: ".") {
                level = try destinations(of: level, along: String(name))
                access.prefetched += level
            }
        }
    }

    private func destinations(of objects: [ManagedObject], along name: String) throws -> [ManagedObject] {
        var ids: [ManagedObjectID] = []
        var seen: Set<ManagedObjectID> = []
        // Before the getters below, which cannot throw.
        try loadRelated(to: objects, along: name)
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

    /// Records that a to-one relationship was followed to an object whose row was not located.
    ///
    /// After several steps along the same relationship from objects with near keys, the destinations of neighbouring objects are created too: a loop over
    /// the objects of a fetch probably reads them next.
    func recordStep(from object: ManagedObject, along property: PropertyDescription, to destination: ManagedObject) {
        access.log?.lastStep = (destination.key, property)
        guard access.log == nil, parent == nil, !role.isDetachedReader else { return }
        guard access.readAhead.countStep(along: property, from: object.registryKey) else { return }
        var ids: [ManagedObjectID] = []
        for neighbour in registry.neighbours(after: object.registryKey, limit: ReadAhead.width) where neighbour.scope === object.scope {
            guard case .objectID(let id) = neighbour.currentValue(of: property), !id.isTemporaryID else { continue }
            ids.append(id)
        }
        if ids.isEmpty { return }
        let made = objects(with: ids)
        withExtendedLifetime(access.readAhead.made) { access.readAhead.made = made }
    }
}

extension ManagedObjectContext {
    /// Releases the objects that were prefetched or read ahead.
    func releaseReadAhead() {
        releasePrefetched()
        withExtendedLifetime(access.readAhead) { access.readAhead = ReadAhead() }
    }

    /// Releases the prefetched objects. They are released after the assignment, because their `deinit` may read other objects.
    private func releasePrefetched() {
        withExtendedLifetime(access.prefetched) { access.prefetched = [] }
    }

    /// Records a lookup of a single fault's row.
    func recordLookup(of object: ManagedObject) {
        access.rowsLookedUp += 1
        access.log?.note(object)
    }
}

extension ManagedObject {
    /// True if reading the object needs no lookup of its row.
    final var isRowLocated: Bool { !isFault || scope.cells?.knows(hint) == true }
}
