internal import HornbeamModel
internal import HornbeamStore

// Fetches over unsaved changes. The store answers for rows that are as stored; changed objects are
// judged in memory and merged in. Where a predicate or an order looks through relationships at changed
// objects, the store cannot answer, and all objects are judged in memory: right, and slower.

extension ManagedObjectContext {
    enum PendingPlan {
        /// Nothing here matters to the request.
        case storeOnly
        /// These objects, and no others, are not as stored.
        case overlay([ManagedObject])
        /// Objects at the other end of relationships are not as stored.
        case inMemory
    }

    func find(_ request: FetchDescription) throws -> FoundObjects {
        let found = try findPrepared(prepared(request))
        // Objects are judged by what their getters give.
        try requireNoReadFailures()
        return found
    }

    /// The results without those objects, which a child judges itself.
    func findPrepared(_ request: FetchDescription, excluding keys: Set<UInt64> = []) throws -> FoundObjects {
        switch try pendingPlan(for: request, excluding: keys) {
        case .storeOnly: return try stored(request, excluding: keys)
        case .overlay(let objects): return FoundObjects(try findWithOverlay(request, objects, excluding: keys))
        case .inMemory: return FoundObjects(try findInMemory(request, excluding: keys))
        }
    }

    /// The number of results, without those objects.
    func countPrepared(_ request: FetchDescription, excluding keys: Set<UInt64> = []) throws -> Int {
        switch try pendingPlan(for: request, excluding: keys) {
        case .storeOnly:
            return try storedCount(request, excluding: keys)
        case .overlay(let objects):
            let matching = try matching(objects, request)
            let stored = try storedCount(request.unlimited, excluding: keys.union(storedKeys(objects)))
            return request.limited(stored + matching.count)
        case .inMemory:
            return try findInMemory(request, excluding: keys).count
        }
    }

    /// The number of results as the parent or the store has them.
    private func storedCount(_ request: FetchDescription, excluding keys: Set<UInt64>) throws -> Int {
        if let parent { return try parent.countPrepared(request, excluding: keys) }
        let watch = FetchWatch(self)
        let answer = try readingSnapshot().countAnswer(request, excluding: keys)
        note(answer.work, results: answer.count, watch)
        return answer.count
    }

    /// The results as the parent or the store has them.
    private func stored(
        _ request: FetchDescription, excluding keys: Set<UInt64>
    ) throws -> FoundObjects {
        if let parent { return FoundObjects(try parent.findPrepared(request, excluding: keys).map(adopted)) }
        let watch = FetchWatch(self)
        let answer = try readingSnapshot().fetch(request, excluding: keys)
        note(answer.work, results: answer.rows.count, watch)
        return FoundObjects(answer)
    }

    /// The parent's result as one of this context.
    private func adopted(_ found: FoundObject) -> FoundObject {
        switch found {
        case .stored: found
        case .object(let object): .object(self.object(with: object.objectID))
        }
    }

    func pendingPlan(for request: FetchDescription, excluding keys: Set<UInt64> = []) throws -> PendingPlan {
        guard request.includesPendingChanges, !tracked.isEmpty else { return .storeOnly }
        let entity = try persistentStoreCoordinator.managedObjectModel.entity(named: request.entityName)
        let paths = RequestPaths(request, entity)
        for destination in paths.destinations
        where tracked.objects(of: destination).contains(where: paths.isTouched) { return .inMemory }
        let own = changed(entity, request, excluding: keys)
        return own.isEmpty ? .storeOnly : .overlay(own)
    }

    /// The objects of the request's entity that are not as stored.
    private func changed(
        _ entity: EntityDescription, _ request: FetchDescription, excluding keys: Set<UInt64>
    ) -> [ManagedObject] {
        tracked.objects(of: entity, andBelow: request.includesSubentities)
            .filter { ($0.hasChanges || $0.state.contains(.gone)) && !keys.contains($0.registryKey) && isIn(request, $0) }
    }

    /// True when the request asks the object's store.
    private func isIn(_ request: FetchDescription, _ object: ManagedObject) -> Bool {
        guard let stores = request.affectedStores else { return true }
        return object.scope.origin.storeIdentifier.map(stores.contains) ?? false
    }

    /// The keys of the objects that have a row, or that the parent may have.
    func storedKeys(_ objects: [ManagedObject]) -> Set<UInt64> {
        Set(objects.filter { parent != nil || !$0.state.contains(.temporary) }.map(\.registryKey))
    }

    /// The objects that satisfy the request's predicate as they are in memory.
    func matching(_ objects: [ManagedObject], _ request: FetchDescription) throws -> [ManagedObject] {
        guard let predicate = request.predicate else { return objects.filter { !$0.isDeleted } }
        let entity = try persistentStoreCoordinator.managedObjectModel.entity(named: request.entityName)
        let compiled = try predicate.compiled(for: entity)
        return try objects.filter { try !$0.isDeleted && compiled.holds($0) }
    }

    private func findWithOverlay(
        _ request: FetchDescription, _ objects: [ManagedObject], excluding keys: Set<UInt64>
    ) throws -> [FoundObject] {
        let order = ObjectOrder(request.sortDescriptors)
        let matching = try order.sorted(matching(objects, request))
        var whole = request.unlimited
        if request.fetchLimit > 0 { whole.fetchLimit = request.fetchLimit + request.fetchOffset }
        let rows = try stored(whole, excluding: keys.union(storedKeys(objects)))
        return request.limited(try merge(Array(rows), matching, order))
    }

    /// Puts each changed object into its place among the rows, by binary search.
    private func merge(
        _ rows: [FoundObject], _ objects: [ManagedObject], _ order: ObjectOrder
    ) throws -> [FoundObject] {
        var result: [FoundObject] = []
        result.reserveCapacity(rows.count + objects.count)
        var start = 0
        for object in objects {
            var low = start
            var high = rows.count
            while low < high {
                let middle = (low + high) / 2
                if try order.precedes(self.object(rows[middle]), object) { low = middle + 1 } else { high = middle }
            }
            result += rows[start..<low]
            result.append(.object(object))
            start = low
        }
        return result + rows[start...]
    }

    /// Judges every object of the entity in memory.
    func findInMemory(_ request: FetchDescription, excluding keys: Set<UInt64>) throws -> [FoundObject] {
        let entity = try persistentStoreCoordinator.managedObjectModel.entity(named: request.entityName)
        var all = FetchDescription(entityName: request.entityName)
        all.includesSubentities = request.includesSubentities
        all.affectedStores = request.affectedStores
        let rows = try stored(all, excluding: keys).map(object)
        let new = changed(entity, request, excluding: keys).filter(\.isInserted)
        let seen = Set(rows)
        let candidates = try matching(rows + new.filter { !seen.contains($0) }, request)
        let sorted = try ObjectOrder(request.sortDescriptors).sorted(candidates)
        return request.limited(sorted.map { .object($0) })
    }
}
