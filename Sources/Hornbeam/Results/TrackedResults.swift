internal import HornbeamModel
internal import HornbeamStore

/// The results of a request, updated after each change of the context.
///
/// If a change affects only the places of the changed objects, these objects are tested in memory and inserted at their places: O(n) for n results,
/// with O(log n) comparisons for each changed object. Otherwise the results are fetched again, for example with a limit, after changes of objects
/// that the request reads through relationships, and in child contexts.
struct TrackedResults<Object: ManagedObject> {
    let fetch: ValidatedFetch
    private let context: ManagedObjectContext
    private let sectionKeyPath: String?
    private let dependencies: ResultDependencies
    private var results: OrderedResults<Object>
    /// The results with temporary IDs. Their order among equal objects changes with their IDs.
    private var temporary: [Object] = []
    /// True if the results must be fetched again at the next change.
    var isStale = false

    /// The results by section.
    var sections: [FetchedResultsSection<Object>] { results.sections }
    var objects: [Object] { results.objects }

    init(
        _ results: OrderedResults<Object>, of fetch: ValidatedFetch, by sectionKeyPath: String?, in context: ManagedObjectContext
    ) {
        self.fetch = fetch
        self.context = context
        self.sectionKeyPath = sectionKeyPath
        self.results = results
        dependencies = ResultDependencies(fetch, sectionKeyPath: sectionKeyPath)
        noteTemporary(results.objects)
    }

    /// Updates the results.
    ///
    /// - Returns: The differences from the results before; nil if there are none.
    mutating func update(after event: ContextEvent) throws -> FetchedResultsChanges<Object>? {
        let old = sections
        let updated: Set<ObjectIdentifier>
        if let moves = moves(event) {
            if moves.isEmpty { return nil }
            try reposition(moves)
            updated = moves.updated
        } else {
            try fetchAgain()
            updated = context.identities(of: event.changes)
        }
        let changes = FetchedResultsChanges(from: old, to: sections, updated: updated)
        return changes.isEmpty ? nil : changes
    }

    private mutating func fetchAgain() throws {
        results = try OrderedResults(context.finish(context.findPrepared(fetch), fetch.request), by: sectionKeyPath)
        isStale = false
        noteTemporary(results.objects)
    }

    private mutating func noteTemporary(_ candidates: [Object]) {
        temporary = context.tracker.objects.isEmpty ? [] : candidates.filter { $0.state.contains(.temporary) }
    }

    // MARK: Changes of single objects

    /// Objects whose places may have changed.
    private struct Moves {
        var objects: [Object] = []
        /// The objects whose values may have changed.
        var updated: Set<ObjectIdentifier> = []
        /// True if objects were deleted.
        var hasDeletions = false

        var isEmpty: Bool { objects.isEmpty && !hasDeletions }
    }

    /// The objects to move. Nil if the results must be fetched again.
    private func moves(_ event: ContextEvent) -> Moves? {
        guard !isStale, dependencies.isByObject, let unlisted = event.unlistedEntities, event.changes.invalidated.isEmpty, canTrust else { return nil }
        let model = context.persistentStoreCoordinator.managedObjectModel
        guard unlisted.allSatisfy({ dependencies.ignores(model.entities[Int($0)]) }) else { return nil }
        var moves = Moves()
        var last: (identity: ManagedObjectID.StoreIdentity, isResult: Bool)?
        let changes = event.changes
        for (ids, isUpdated) in [(changes.inserted, false), (changes.updated, true), (changes.refreshed, true), (changes.deleted, false)] {
            for id in ids {
                if last?.identity !== id.origin {
                    guard let entity = model.entitiesByName[id.entityName], !dependencies.isReadThroughRelationships(entity) else { return nil }
                    last = (id.origin, dependencies.isResult(entity))
                }
                guard last?.isResult == true else { continue }
                if changes.deleted.contains(id) {
                    // A deletion by another context that this context did not accept.
                    if let object = context.registeredObject(for: id), !object.isDeleted { return nil }
                    moves.hasDeletions = true
                } else {
                    guard let object = (context.registeredObject(for: id) ?? newObject(id)) as? Object else { return nil }
                    moves.objects.append(object)
                    if isUpdated { moves.updated.insert(ObjectIdentifier(object)) }
                }
            }
        }
        moves.objects += temporary.filter { !$0.state.contains(.temporary) }
        // With many changes, a fetch costs less than tests of single objects.
        return moves.objects.count <= 1000 + objects.count / 2 ? moves : nil
    }

    /// True if the values in memory of unchanged objects are those of the store, and no change waits for its event.
    private var canTrust: Bool {
        context.parent == nil && context.automaticallyMergesChangesFromParent && !context.reading.isPinned
            && context.observers.queue.isEmpty && !context.tracker.event.isDue
    }

    /// An object that another context inserted; nil for a new object of this context that no longer exists.
    private func newObject(_ id: ManagedObjectID) -> ManagedObject? { id.isTemporaryID ? nil : context.object(with: id) }

    /// Removes objects from their places, and inserts those that satisfy the request at their new places. Removes deleted objects.
    private mutating func reposition(_ moves: Moves) throws {
        var identities: Set<ObjectIdentifier> = []
        let moving = moves.objects.filter { object in
            identities.insert(ObjectIdentifier(object)).inserted && !object.state.contains(.detached) && context.isIn(fetch.request, object)
        }
        let order = try ObjectOrder(fetch)
        let arriving = try order.sorted(context.matching(moving, fetch))
        let old = results
        let remaining = old.objects.indices.filter { position in
            let object = old.objects[position]
            return object.state.isDisjoint(with: [.deleted, .gone, .detached]) && !identities.contains(ObjectIdentifier(object))
        }
        var names = SectionNames(old.sections.map(\.name))
        var merged: [Object] = []
        var numbers: [Int32] = []
        merged.reserveCapacity(remaining.count + arriving.count)
        var start = 0
        func keep(upTo end: Int) {
            for position in remaining[start ..< end] {
                merged.append(old.objects[position])
                if sectionKeyPath != nil { numbers.append(old.numbers[position]) }
            }
            start = end
        }
        for (object, keys) in arriving {
            keep(upTo: try Self.place(of: keys, in: remaining, of: old.objects, from: start, order))
            merged.append(object)
            if let sectionKeyPath { numbers.append(names.number(try object.sectionName(forKeyPath: sectionKeyPath))) }
        }
        keep(upTo: remaining.count)
        try context.requireNoReadFailures()
        results = sectionKeyPath == nil ? try OrderedResults(merged, by: nil) : OrderedResults(merged, numbers: numbers, names.all)
        noteTemporary(temporary + arriving.map(\.object))
    }

    /// The position of the first remaining object that does not precede another one. Searches near the start first: the arriving objects are sorted.
    private static func place(
        of keys: ObjectOrder.Keys, in remaining: [Int], of objects: [Object], from start: Int, _ order: ObjectOrder
    ) throws -> Int {
        var low = start
        var step = 1
        while low + step <= remaining.count, try order.precedes(objects[remaining[low + step - 1]], keys) {
            low += step
            step *= 2
        }
        var high = min(low + step - 1, remaining.count)
        while low < high {
            let middle = (low + high) / 2
            if try order.precedes(objects[remaining[middle]], keys) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension ManagedObjectContext {
    /// The registered objects whose values changed.
    func identities(of changes: ObjectChanges) -> Set<ObjectIdentifier> {
        identities(of: changes.updated).union(identities(of: changes.refreshed))
    }

    func identities(of ids: Set<ManagedObjectID>) -> Set<ObjectIdentifier> {
        Set(ids.lazy.compactMap { self.registeredObject(for: $0) }.map { ObjectIdentifier($0) })
    }
}
