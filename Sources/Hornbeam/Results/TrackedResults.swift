internal import HornbeamModel
internal import HornbeamStore

/// The results of a request, updated after each change of the context.
///
/// If a change affects only the places of the changed objects, these objects are tested in memory and inserted at their places: O(n) for n results,
/// with O(log n) comparisons for each changed object. Otherwise the results are fetched again, for example with a limit, after changes of objects
/// that the request reads through relationships, and in child contexts.
struct TrackedResults<Object: ManagedObject>: UpdatedResults {
    let fetch: ValidatedFetch
    private let context: ManagedObjectContext
    private let sectionKeyPath: String?
    private let dependencies: ResultDependencies
    private var results: OrderedResults<Object>
    private var keys: ResultKeys
    /// The results with temporary IDs. Their order among equal objects changes with their IDs.
    private var temporary: [Object] = []
    var isStale = false

    var sections: [FetchedResultsSection<Object>] { results.sections }
    var objects: [Object] { results.objects }

    init(
        _ results: OrderedResults<Object>, of fetch: ValidatedFetch, by sectionKeyPath: String?, in context: ManagedObjectContext
    ) {
        self.fetch = fetch
        self.context = context
        self.sectionKeyPath = sectionKeyPath
        self.results = results
        keys = ResultKeys(count: results.objects.count)
        dependencies = ResultDependencies(fetch, sectionKeyPath: sectionKeyPath)
        recordTemporary(results.objects)
    }

    mutating func update(after event: ContextEvent) throws -> FetchedResultsChanges<Object>? {
        let old = sections
        let changes: FetchedResultsChanges<Object>
        if let known = try reposition(after: event) {
            changes = known
        } else {
            try fetchAgain()
            changes = FetchedResultsChanges(from: old, to: sections, updated: context.identities(of: event.changes))
        }
        return changes.isEmpty ? nil : changes
    }

    /// Updates the results without a fetch.
    ///
    /// - Returns: The differences from the results before; nil if the results must be fetched again.
    mutating func reposition(after event: ContextEvent) throws -> FetchedResultsChanges<Object>? {
        guard let moves = moves(event) else { return nil }
        if moves.isEmpty { return FetchedResultsChanges() }
        let old = results
        let difference = try reposition(moves)
        if sectionKeyPath == nil { return FetchedResultsChanges(difference, from: old, to: results) }
        let updated = Set(moves.updated.map { UInt64(UInt(bitPattern: $0)) })
        return FetchedResultsChanges(from: old.sections, to: sections, updated: updated)
    }

    private mutating func fetchAgain() throws {
        results = try OrderedResults(context.finish(context.findPrepared(fetch), fetch.request), by: sectionKeyPath)
        keys = ResultKeys(count: results.objects.count)
        isStale = false
        recordTemporary(results.objects)
    }

    private mutating func recordTemporary(_ candidates: [Object]) {
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
        guard !isStale, dependencies.isByObject, let unlisted = event.unlistedEntities, event.changes.invalidated.isEmpty, !event.changes.invalidatedAll,
            context.canTrustMemory
        else { return nil }
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

    /// An object that another context inserted; nil for a new object of this context that no longer exists.
    private func newObject(_ id: ManagedObjectID) -> ManagedObject? { id.isTemporaryID ? nil : context.object(with: id) }

    /// Removes objects from their places, and inserts those that satisfy the request at their new places. Removes deleted objects.
    ///
    /// - Returns: The difference from the results before, in the order of the fetch.
    private mutating func reposition(_ moves: Moves) throws -> ListDifference {
        var identities = MovingObjects()
        let moving = moves.objects.filter { object in
            identities.insert(ObjectIdentifier(object)) && !object.state.contains(.detached) && context.isIn(fetch.request, object)
        }
        let order = try ObjectOrder(fetch)
        let arriving = try order.sorted(context.matching(moving, fetch))
        let old = results
        let (remaining, leaving) = Self.split(old.objects, identities, mayBeDeleted: moves.hasDeletions)
        var merge = ResultMerge(old, keys, remaining, arriving: arriving.count, bySection: sectionKeyPath != nil)
        // After an error, the next update fetches. The merge now has the only reference to the keys, so they are not copied.
        isStale = true
        keys = ResultKeys(count: 0)
        for (object, keys) in arriving {
            try merge.insert(object, keys, order, sectionName: try sectionKeyPath.map { try object.sectionName(forKeyPath: $0) })
        }
        merge.keepRest()
        try context.requireNoReadFailures()
        results = try merge.results()
        keys = merge.keys
        isStale = false
        recordTemporary(temporary + arriving.map { $0.object })
        return ListDifference(leaving: leaving, arriving: merge.arrivals, isMarked: moves.updated.contains)
    }

    /// The positions of the objects that keep their order, and of the others, which move or were deleted.
    private static func split(
        _ objects: [Object], _ moving: MovingObjects, mayBeDeleted: Bool
    ) -> (remaining: [Int], leaving: [ListDifference.Place<ObjectIdentifier>]) {
        var remaining: [Int] = []
        var leaving: [ListDifference.Place<ObjectIdentifier>] = []
        remaining.reserveCapacity(objects.count)
        var position = 0
        for object in objects {
            let identity = ObjectIdentifier(object)
            if moving.contains(identity) || mayBeDeleted && !object.state.isDisjoint(with: [.deleted, .gone, .detached]) {
                leaving.append(.init(position: position, element: identity))
            } else {
                remaining.append(position)
            }
            position += 1
        }
        return (remaining, leaving)
    }
}

/// A set of objects, with a bitmap that decides most tests of other objects.
private struct MovingObjects {
    private var identities: Set<ObjectIdentifier> = []
    private var bitmap = [UInt64](repeating: 0, count: 1 << 12)

    /// - Returns: True if the object is new in the set.
    mutating func insert(_ identity: ObjectIdentifier) -> Bool {
        let bit = Self.bit(identity)
        bitmap[bit >> 6] |= 1 << UInt64(bit & 63)
        return identities.insert(identity).inserted
    }

    func contains(_ identity: ObjectIdentifier) -> Bool {
        let bit = Self.bit(identity)
        return bitmap[bit >> 6] & 1 << UInt64(bit & 63) != 0 && identities.contains(identity)
    }

    /// One of 2¹⁸ bits.
    private static func bit(_ identity: ObjectIdentifier) -> Int {
        Int(truncatingIfNeeded: (UInt64(UInt(bitPattern: identity)) &* 0x9E37_79B9_7F4A_7C15) >> 46)
    }
}

extension ManagedObjectContext {
    /// True if the values in memory of unchanged objects are those of the store, and no change waits for its event.
    var canTrustMemory: Bool {
        parent == nil && automaticallyMergesChangesFromParent && !reading.isPinned && observers.queue.isEmpty && !tracker.event.isDue
    }

    /// The identities of the registered objects whose values changed.
    func identities(of changes: ObjectChanges) -> Set<UInt64> { identities(of: changes.updated).union(identities(of: changes.refreshed)) }

    func identities(of ids: Set<ManagedObjectID>) -> Set<UInt64> {
        Set(ids.lazy.compactMap { self.registeredObject(for: $0)?.identityBits })
    }
}
