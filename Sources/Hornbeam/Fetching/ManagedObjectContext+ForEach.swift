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
    /// the batch, unless the closure retains them. Without a sort order, a limit and unsaved changes, a request that no index serves reads each page of the
    /// store once, and the memory in use does not depend on the number of results.
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

    private static var batchSize: Int { 1000 }

    private func visit<Object: ManagedObject>(_ found: FoundObjects, _ request: FetchDescription, _ body: (Object) throws -> Void) throws {
        let size = request.fetchBatchSize > 0 ? request.fetchBatchSize : Self.batchSize
        for start in stride(from: 0, to: found.count, by: size) {
            let objects: [Object] = try finish(found.part(start..<min(start + size, found.count)), request)
            for object in objects { try body(attached(object, request)) }
        }
    }

    /// The object, or a new one for its row if the closure has reset the context since the object was found.
    private func attached<Object: ManagedObject>(_ object: Object, _ request: FetchDescription) throws -> Object {
        // Other detached objects have their last values, and no row.
        guard object.state.isSuperset(of: [.fault, .detached]), !object.state.contains(.temporary) else { return object }
        return try typed(self.object(with: object.objectID), request)
    }
}
