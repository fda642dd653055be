internal import HornbeamModel
internal import HornbeamStore

// Requests of a shape that the context has executed before: if no unsaved change, no newer commit and no subscriber can matter, they are
// executed without the steps of the general path. The results are the same.

/// The results of a direct fetch: the keys of objects of one entity.
@usableFromInline
struct DirectObjects {
    fileprivate let keys: [UInt64]
    /// The locations of the rows; empty if they are not known.
    fileprivate let hints: [RowHint]
    fileprivate let scope: EntityScope

    @usableFromInline var count: Int { keys.count }
}

extension ManagedObjectContext {
    /// The results of a request whose shape the context has fetched before; nil if the request must take the general path.
    @usableFromInline
    func directObjects(of request: FetchDescription) throws -> DirectObjects? {
        guard let snapshot = directSnapshot, let recent = recentFetches.find(request), recent.returnsPlainFaults,
            let direct = try recent.directFetch(in: snapshot, counting: false), let result = try find(request, direct, recent)
        else { return nil }
        return DirectObjects(keys: result.keys, hints: result.hints, scope: scope(at: Int(direct.entityIndex), in: .first))
    }

    /// The object at a position of the results. Locates its row if the context has no object for it.
    @usableFromInline
    func object(_ position: Int, of found: DirectObjects) throws -> ManagedObject {
        let key = found.keys[position]
        if let object = registeredObject(key, found.scope) { return object }
        if !found.hints.isEmpty { return makeFault(found.scope, key: key, hint: found.hints[position]) }
        var hint = RowHint()
        _ = try found.scope.readingCells().find(key, &hint)
        return makeFault(found.scope, key: key, hint: hint)
    }

    /// The number of results of such a request; nil if the request must take the general path.
    func directCount(of request: FetchDescription) throws -> Int? {
        guard request.resultType != .dictionaries, let snapshot = directSnapshot, let recent = recentFetches.find(request),
            let direct = try recent.directFetch(in: snapshot, counting: true), let result = try find(request, direct, recent)
        else { return nil }
        return result.keys.count
    }

    private func find(_ request: FetchDescription, _ direct: DirectFetch, _ recent: RecentFetch) throws -> DirectResult? {
        guard let result = try direct.find(request) else {
            // The general path plans the request, and may keep another plan.
            recent.forgetDirectFetches()
            return nil
        }
        access.costs.fetches += 1
        access.costs.rowsRead += result.rowsRead
        return result
    }

    /// The context's snapshot, if it is the newest one, and neither unsaved changes nor failures nor subscribers matter to a fetch; nil otherwise.
    private var directSnapshot: StackSnapshot? {
        guard tracker.objects.isEmpty, !tracker.event.isDue, undoStack == nil, failures.unacknowledgedCount == 0, !reading.isPinned, isKnownNewest,
            !persistentStoreCoordinator.slowFetches.isObserved
        else { return nil }
        return snapshot
    }
}
