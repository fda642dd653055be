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

    /// The dictionaries of such a request; nil if the request must take the general path.
    func directDictionaries(of request: FetchDescription) throws -> [[String: PropertyValue]]? {
        guard let (direct, recent) = try dictionaryMaker(for: request), let (results, rowsRead) = try direct.dictionaries(of: request) ?? forget(recent)
        else { return nil }
        count(rowsRead: rowsRead)
        return results
    }

    /// The dictionaries of such a request as values by column, and the place of each column; nil if the request must take the general path.
    func directRows(of request: FetchDescription) throws -> (rows: [[PropertyValue]], places: [String: Int])? {
        guard let (direct, recent) = try dictionaryMaker(for: request), let (rows, rowsRead) = try direct.rows(of: request) ?? forget(recent)
        else { return nil }
        count(rowsRead: rowsRead)
        return (rows, direct.places)
    }

    private func dictionaryMaker(for request: FetchDescription) throws -> (DirectDictionaries, RecentFetch)? {
        guard let snapshot = directSnapshot, let recent = recentFetches.find(request) else { return nil }
        return try recent.directDictionaries(of: request, in: snapshot).map { ($0, recent) }
    }

    private func count(rowsRead: Int) {
        access.costs.fetches += 1
        access.costs.rowsRead += rowsRead
    }

    /// Called if a request must be planned: the general path may keep another plan.
    private func forget<Result>(_ recent: RecentFetch) -> Result? {
        recent.forgetDirectFetches()
        return nil
    }

    private func find(_ request: FetchDescription, _ direct: DirectFetch, _ recent: RecentFetch) throws -> DirectResult? {
        guard let result = try direct.find(request) ?? forget(recent) else { return nil }
        count(rowsRead: result.rowsRead)
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
