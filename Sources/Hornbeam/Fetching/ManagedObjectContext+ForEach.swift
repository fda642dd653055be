public import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// Calls a closure with each object that satisfies a request, in its order. For results that do not fit in memory.
    ///
    ///     try context.forEach(FetchRequest<Reading>().where { $0.year == 2024 }) { reading in
    ///         total += reading.value
    ///     }
    ///
    /// The objects are those that `fetch` returns. They are created in batches, of the request's batch size if it has one, and released after the calls for
    /// the batch, unless the closure retains them or the stores have few rows. Without a sort order, a limit and unsaved changes, a request that no index
    /// serves reads each page of the store once, and creates and releases one object after the other; the memory in use does not depend on the number of
    /// results.
    ///
    /// The results do not change during the call. The closure may change, delete and save objects; it also gets objects that it has changed or deleted. If a
    /// deletion has been saved meanwhile, by the closure or by another context whose saves this one merges, the values of the object may be zeros. The closure
    /// may reset the context: it then gets new objects for the remaining results.
    /// - Throws: The errors of `fetch`, perhaps after some calls of the closure; `snapshotExpired` if the call takes longer than the store's `snapshotAgeMax`
    ///   while others save; the errors of the closure.
    /// - Complexity: As `fetch`, except that the first object comes before all others are found.
    public func forEach<Object: ManagedObject>(_ request: FetchRequest<Object>, _ body: (Object) throws -> Void) throws {
        let request = request.untyped
        try requireObjects(request)
        let fetch = try prepared(request)
        guard let portions = try portions(of: fetch) else {
            let found = try findPrepared(fetch)
            // Objects in memory are tested by their getters, which cannot throw.
            try requireNoReadFailures()
            try requireClass(Object.self, of: found, request)
            return try visitInBatches(found, request, body)
        }
        var watch = FetchTimer(self)
        var count = 0
        defer { note(portions.stop(), results: count, watch) }
        while let rows = try portions.rows() {
            count += rows.count
            try watch.pausing { try visitPortion(rows, request, body) }
        }
    }

    /// The results in portions; nil if unsaved changes may affect them, or if they must be found as a whole.
    private func portions(of fetch: ValidatedFetch) throws -> ScanPortions? {
        guard parent == nil, stack.queryingStore == nil, !stack.hasQueryingStoreBesideOthers, case .storeOnly = try pendingPlan(for: fetch) else { return nil }
        return try readingSnapshot().portions(of: fetch)
    }

    private func visitPortion<Object: ManagedObject>(_ rows: ResultSet, _ request: FetchDescription, _ body: (Object) throws -> Void) throws {
        let visited = needsBatches(request) ? 0 : try visitOneByOne(rows, request, body)
        if visited < rows.count { try visitInBatches(FoundObjects(rows).part(visited..<rows.count), request, body) }
    }

    private func needsBatches(_ request: FetchDescription) -> Bool {
        request.fetchBatchSize > 0 || !request.relationshipKeyPathsForPrefetching.isEmpty || !request.returnsObjectsAsFaults
            || request.shouldRefreshRefetchedObjects
    }

    /// Releases each object before the next one is created, which then gets its memory while that is in the processor's cache. Returns the number of rows
    /// that were visited: fewer than all when the closure follows a relationship from one object after the other, since read-ahead needs their neighbours.
    private func visitOneByOne<Object: ManagedObject>(
        _ rows: ResultSet, _ request: FetchDescription, _ body: (Object) throws -> Void
    ) throws -> Int {
        var (next, maker, count) = (rows.makeIterator(), FaultMaker(), 0)
        while let row = next.next() {
            try body(known(maker.object(row, self), request))
            if count % Self.rowsPerSweep == 0 {
                keepUnusedObjectsOfSmallStores()
                sweepIfDue()
            }
            count += 1
            releaseUnused(row.reference.key)
            if access.readAhead.predictsSteps { break }
        }
        return count
    }

    /// The number of rows after which objects that the closure has read are swept.
    private static var rowsPerSweep: Int { 256 }

    private func visitInBatches<Object: ManagedObject>(_ found: FoundObjects, _ request: FetchDescription, _ body: (Object) throws -> Void) throws {
        let usual = request.relationshipKeyPathsForPrefetching.isEmpty ? Self.batchSize : Self.prefetchingBatchSize
        let size = request.fetchBatchSize > 0 ? request.fetchBatchSize : usual
        var keys: [UInt64] = []
        for start in stride(from: 0, to: found.count, by: size) {
            keys.removeAll(keepingCapacity: true)
            try visitBatch(found.part(start..<min(start + size, found.count)), request, &keys, body)
            keepUnusedObjectsOfSmallStores()
            // The last ones first, so that the registry removes each from the end of its list of new objects.
            for key in keys.reversed() { releaseUnused(key) }
        }
    }

    /// Fewer objects than those after which a sweep runs: they are released after the calls of the closure, while they are in the processor's cache.
    /// An array of a KiB or more would make `malloc` merge all free blocks, of which it then divides some for the next objects.
    private static var batchSize: Int { 120 }
    /// Relationships are prefetched for more objects at a time.
    private static var prefetchingBatchSize: Int { 1000 }

    /// Adds the keys of the objects to `keys`.
    private func visitBatch<Object: ManagedObject>(
        _ found: FoundObjects, _ request: FetchDescription, _ keys: inout [UInt64], _ body: (Object) throws -> Void
    ) throws {
        let objects: [Object] = try finish(found, request)
        for object in objects {
            keys.append(object.registryKey)
            if isReset(object) { try body(attached(object, request)) } else { try body(object) }
        }
    }

    /// True if the closure has reset the context since the object was found. Other detached objects have their last values, and no row.
    @inline(__always)
    private func isReset(_ object: ManagedObject) -> Bool { object.state.isSuperset(of: [.fault, .detached]) && !object.state.contains(.temporary) }

    /// A new object for the row of an object from before a reset.
    private func attached<Object: ManagedObject>(_ object: Object, _ request: FetchDescription) throws -> Object {
        try typed(self.object(with: object.objectID), request)
    }
}
