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

    func find(_ request: FetchDescription) throws -> [FoundObject] {
        let request = try prepared(request)
        if let stores = request.affectedStores, try !stores.contains(store().identifier) { return [] }
        switch try pendingPlan(for: request) {
        case .storeOnly: return try stored(request)
        case .overlay(let objects): return try findWithOverlay(request, objects)
        case .inMemory: return try findInMemory(request)
        }
    }

    private func stored(
        _ request: FetchDescription, excluding keys: Set<UInt64> = []
    ) throws -> [FoundObject] {
        let answer = try readingSnapshot().fetch(request, excluding: keys)
        rowsRead += answer.rowsRead
        let hasHints = answer.hints.count == answer.references.count
        return answer.references.indices.map {
            .stored(answer.references[$0], hasHints ? answer.hints[$0] : RowHint())
        }
    }

    func pendingPlan(for request: FetchDescription) throws -> PendingPlan {
        guard request.includesPendingChanges, !tracked.isEmpty else { return .storeOnly }
        let entity = try persistentStoreCoordinator.managedObjectModel.entity(named: request.entityName)
        let paths = RequestPaths(request, entity)
        for destination in paths.destinations
        where tracked.objects(of: destination).contains(where: paths.isTouched) { return .inMemory }
        let own = changed(entity, request)
        return own.isEmpty ? .storeOnly : .overlay(own)
    }

    /// The objects of the request's entity that are not as stored.
    private func changed(_ entity: EntityDescription, _ request: FetchDescription) -> [ManagedObject] {
        tracked.objects(of: entity, andBelow: request.includesSubentities)
            .filter { $0.hasChanges || $0.state.contains(.gone) }
    }

    /// The keys of the objects that have a row.
    func storedKeys(_ objects: [ManagedObject]) -> Set<UInt64> {
        Set(objects.filter { !$0.state.contains(.temporary) }.map(\.key))
    }

    /// The objects that satisfy the request's predicate as they are in memory.
    func matching(_ objects: [ManagedObject], _ request: FetchDescription) throws -> [ManagedObject] {
        guard let predicate = request.predicate else { return objects.filter { !$0.isDeleted } }
        let entity = try persistentStoreCoordinator.managedObjectModel.entity(named: request.entityName)
        let compiled = try predicate.compiled(for: entity)
        return try objects.filter { try !$0.isDeleted && compiled.holds($0) }
    }

    private func findWithOverlay(
        _ request: FetchDescription, _ objects: [ManagedObject]
    ) throws -> [FoundObject] {
        let order = ObjectOrder(request.sortDescriptors)
        let matching = try order.sorted(matching(objects, request))
        var whole = request.unlimited
        if request.fetchLimit > 0 { whole.fetchLimit = request.fetchLimit + request.fetchOffset }
        let rows = try stored(whole, excluding: storedKeys(objects))
        return request.limited(try merge(rows, matching, order))
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
    func findInMemory(_ request: FetchDescription) throws -> [FoundObject] {
        let entity = try persistentStoreCoordinator.managedObjectModel.entity(named: request.entityName)
        var all = FetchDescription(entityName: request.entityName)
        all.includesSubentities = request.includesSubentities
        let rows = try stored(all).map(object)
        let new = changed(entity, request).filter(\.isInserted)
        let seen = Set(rows)
        let candidates = try matching(rows + new.filter { !seen.contains($0) }, request)
        let sorted = try ObjectOrder(request.sortDescriptors).sorted(candidates)
        return request.limited(sorted.map { .object($0) })
    }
}
