public import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// Calls a closure with each object that satisfies a request, in its order. For results that do not fit in memory.
    ///
    ///     try context.forEach(FetchRequest<Reading>().where { $0.year == 2024 }) { reading in
    ///         total += reading.value
    ///     }
    ///
    /// The objects are those that `fetch` returns. Each is created before its call and released after it, unless the closure retains it or the stores have few
    /// rows. A request with a batch size creates and releases them in batches, and so does one that prefetches relationships. Without a sort order, a limit and
    /// unsaved changes, a request that no index serves reads each page of the store once, and the memory in use does not depend on the number of results.
    ///
    /// The results do not change during the call. The closure may change, delete and save objects; it also gets objects that it has changed or deleted. If it
    /// has saved a deletion, the values of the object may be zeros. It may reset the context: it then gets new objects for the remaining results.
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
            return try visit(found, request, body)
        }
        var watch = FetchTimer(self)
        var count = 0
        defer { note(portions.stop(), results: count, watch) }
        while let rows = try portions.rows() {
            count += rows.count
            try watch.pausing { try visit(FoundObjects(rows), request, body) }
        }
    }

    /// The results in portions; nil if unsaved changes may affect them, or if they must be found as a whole.
    private func portions(of fetch: ValidatedFetch) throws -> ScanPortions? {
        guard parent == nil, stack.queryingStore == nil, !stack.hasQueryingStoreBesideOthers, case .storeOnly = try pendingPlan(for: fetch) else { return nil }
        return try readingSnapshot().portions(of: fetch)
    }

    private func visit<Object: ManagedObject>(_ found: FoundObjects, _ request: FetchDescription, _ body: (Object) throws -> Void) throws {
        if let rows = found.rows, !needsBatches(request) { return try visitOneByOne(rows, request, body) }
        let size = request.fetchBatchSize > 0 ? request.fetchBatchSize : Self.batchSize
        var keys: [UInt64] = []
        for start in stride(from: 0, to: found.count, by: size) {
            keys.removeAll(keepingCapacity: true)
            try visitBatch(found.part(start..<min(start + size, found.count)), request, &keys, body)
            keepUnusedObjectsOfSmallStores()
            for key in keys.reversed() { releaseUnused(key) }
        }
    }

    /// The number of objects for which relationships are prefetched together.
    private static var batchSize: Int { 1000 }

    private func needsBatches(_ request: FetchDescription) -> Bool {
        request.fetchBatchSize > 0 || !request.relationshipKeyPathsForPrefetching.isEmpty || !request.returnsObjectsAsFaults
            || request.shouldRefreshRefetchedObjects
    }

    /// Releases each object before the next one is created, which then gets its memory while that is in the processor's cache.
    private func visitOneByOne<Object: ManagedObject>(_ rows: ResultSet, _ request: FetchDescription, _ body: (Object) throws -> Void) throws {
        var (rows, maker, count) = (rows.makeIterator(), FaultMaker(), 0)
        while let row = rows.next() {
            if count % Self.rowsPerSweep == 0 {
                keepUnusedObjectsOfSmallStores()
                sweepIfDue()
                // The closure may have changed the stores of the context.
                maker = FaultMaker()
            }
            count += 1
            try body(known(maker.object(row, self), request))
            releaseUnused(row.reference.key)
        }
    }

    /// The number of rows after which objects that the closure has read or retained are swept.
    private static var rowsPerSweep: Int { 256 }

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
