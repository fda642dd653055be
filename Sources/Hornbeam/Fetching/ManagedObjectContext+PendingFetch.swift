internal import HornbeamModel
internal import HornbeamStore

// Fetches with unsaved changes. The store returns the unchanged objects. Changed objects are
// tested in memory and inserted at their positions. If the predicate or the order reads changed objects through relationships,
// the store cannot evaluate it, and all objects are tested in memory, which is correct but slower.

extension ManagedObjectContext {
    enum PendingPlan {
        /// No unsaved change affects the request.
        case storeOnly
        /// Only fetched objects differ from the store, not objects that the request reads through relationships.
        case overlay(PendingOverlay)
        /// Objects that the request reads through relationships differ from the store.
        case inMemory
    }

    func find(_ request: FetchDescription) throws -> FoundObjects {
        let found = try findPrepared(prepared(request))
        // Objects in memory are tested by their getters, which cannot throw.
        try requireNoReadFailures()
        return found
    }

    /// The results without the objects of some keys. A child context excludes the objects that it tests itself.
    func findPrepared(_ fetch: ValidatedFetch, excluding keys: Set<UInt64> = []) throws -> FoundObjects {
        switch try pendingPlan(for: fetch, excluding: keys) {
        case .storeOnly: return try stored(fetch, excluding: keys)
        case .overlay(let overlay): return FoundObjects(try findWithOverlay(fetch, overlay, excluding: keys))
        case .inMemory: return FoundObjects(try findInMemory(fetch, excluding: keys))
        }
    }

    /// The number of results without the objects of some keys.
    func countPrepared(_ fetch: ValidatedFetch, excluding keys: Set<UInt64> = []) throws -> Int {
        switch try pendingPlan(for: fetch, excluding: keys) {
        case .storeOnly:
            return try storedCount(fetch, excluding: keys)
        case .overlay(let overlay):
            // First the store: reading from it can merge changes into the candidates.
            let stored = try storedCount(fetch.withoutWindow, excluding: overlay.excluded(and: keys))
            let matching = try matching(overlay.candidates, fetch)
            return fetch.request.window.count(of: stored + matching.count)
        case .inMemory:
            return try findInMemory(fetch, excluding: keys).count
        }
    }

    /// The number of results in the parent or the store.
    private func storedCount(_ fetch: ValidatedFetch, excluding keys: Set<UInt64>) throws -> Int {
        if let parent {
            let count = try parent.countPrepared(fetch, excluding: keys)
            if stack.queryingStore != nil || stack.hasQueryingStoreBesideOthers { try advance() }
            return count
        }
        let watch = FetchTimer(self)
        var excluded = keys
        if let store = stack.queryingStore(for: fetch.request) {
            switch try store.answerCount(fetch, excluding: stack.queryingKeys(keys)) {
            case .found(let count): return count
            case .cached(let others): excluded.formUnion(stack.keys(ofQuerying: others))
            }
            try advance()
        } else {
            excluded.formUnion(try loadBesideOthers(fetch))
        }
        let answer = try readingSnapshot().countAnswer(fetch, excluding: excluded)
        note(answer.work, results: answer.count, watch)
        return answer.count
    }

    /// The results in the parent or the store.
    private func stored(
        _ fetch: ValidatedFetch, excluding keys: Set<UInt64>
    ) throws -> FoundObjects {
        if let parent {
            let found = try parent.findPrepared(fetch, excluding: keys)
            if stack.queryingStore != nil || stack.hasQueryingStoreBesideOthers { try advance() }
            return FoundObjects(found.map(adopted))
        }
        let watch = FetchTimer(self)
        var excluded = keys
        if let store = stack.queryingStore(for: fetch.request) {
            let finding = try store.answer(fetch, excluding: stack.queryingKeys(keys))
            try advance()
            switch finding {
            case .found(let references): return FoundObjects(try readingSnapshot().answer(references).rows)
            case .cached(let others): excluded.formUnion(stack.keys(ofQuerying: others))
            }
        } else {
            excluded.formUnion(try loadBesideOthers(fetch))
        }
        let answer = try readingSnapshot().fetch(fetch, excluding: excluded)
        note(answer.work, results: answer.rows.count, watch)
        return FoundObjects(answer.rows)
    }

    /// Loads the rows among which Hornbeam finds the results of a fetch over several stores, if one of them answers queries itself. Returns the keys of cached
    /// objects that are no results.
    @discardableResult
    func loadBesideOthers(_ fetch: ValidatedFetch) throws -> Set<UInt64> {
        guard stack.hasQueryingStoreBesideOthers else { return [] }
        let others = try stack.load(fetch)
        try advance()
        return others
    }

    /// Converts the parent's result to an object of this context.
    private func adopted(_ found: FoundObject) -> FoundObject {
        switch found {
        case .stored: found
        case .object(let object): .object(self.object(with: object.objectID))
        }
    }

    func pendingPlan(for fetch: ValidatedFetch, excluding keys: Set<UInt64> = []) throws -> PendingPlan {
        let (request, entity) = (fetch.request, fetch.entity)
        guard request.includesPendingChanges, !tracker.objects.isEmpty else { return .storeOnly }
        let paths = RequestPaths(request, entity)
        for destination in paths.destinations {
            let view = pendingView(destination, includesSubentities: true, reads: paths.reads(of: destination))
            if view.containsAltered(where: paths.isTouched) { return .inMemory }
        }
        let view = pendingView(entity, includesSubentities: request.includesSubentities, reads: paths.own)
        if view.isEmpty { return .storeOnly }
        let candidates = candidates(for: request, entity, view).filter { !keys.contains($0.registryKey) && isIn(request, $0) }
        return .overlay(PendingOverlay(candidates: candidates, alteredKeys: view.alteredKeys, count: view.count))
    }

    /// The changed objects of an entity that differ from the store in the given properties.
    func pendingView(_ entity: EntityDescription, includesSubentities: Bool, reads: PropertySet?) -> PendingView {
        var parents: UInt64 = 0
        var above = parent
        while let context = above {
            parents &+= context.edits
            above = context.parent
        }
        let view = tracker.objects.views.view(
            entity, includesSubentities: includesSubentities, reads: reads, of: tracker.objects.all, parentEdits: parents)
        // A child context can call this before its parent has processed its pending changes.
        if !tracker.event.touched.isEmpty, view.recordedEdits != edits {
            for (object, _, _) in tracker.event.touched { view.note(object) }
            view.recordedEdits = edits
        }
        return view
    }

    /// The objects of a view that may satisfy a request: for an equality condition, the objects with the value.
    private func candidates(
        for request: FetchDescription, _ entity: EntityDescription, _ view: PendingView
    ) -> [ManagedObject] {
        // With few objects, testing all of them is faster than analysing the predicate.
        guard view.count > 8, request.predicate != nil else { return view.all }
        for case .term(let term) in PredicateAnalysis(request.predicate).conjuncts {
            guard let key = term.key, let property = entity.propertiesByName[key], let values = term.valuesToLookUp(property)
            else { continue }
            return view.objects(of: property, havingAnyOf: values)
        }
        return view.all
    }

    /// True if the request includes the object's store.
    func isIn(_ request: FetchDescription, _ object: ManagedObject) -> Bool {
        guard let stores = request.affectedStores else { return true }
        return object.scope.origin.storeIdentifier.map(stores.contains) ?? false
    }

    /// The objects whose values in memory satisfy the request's predicate.
    func matching<Object: ManagedObject>(_ objects: [Object], _ fetch: ValidatedFetch) throws -> [Object] {
        guard let predicate = fetch.request.predicate, !objects.isEmpty else { return objects.filter { !$0.isDeleted } }
        let compiled = try predicate.compiled(for: fetch.entity)
        return try objects.filter { try !$0.isDeleted && compiled.holds($0) }
    }

    private func findWithOverlay(
        _ fetch: ValidatedFetch, _ overlay: PendingOverlay, excluding keys: Set<UInt64>
    ) throws -> [FoundObject] {
        let order = try ObjectOrder(fetch)
        // First the store: reading from it can merge changes into the candidates.
        let rows = try stored(fetch.upToWindow, excluding: overlay.excluded(and: keys))
        let matching = try order.sorted(matching(overlay.candidates, fetch))
        return Array(fetch.request.window.of(try merge(Array(rows), matching, order)))
    }

    /// Inserts each changed object at its position among the rows, found by binary search.
    private func merge(
        _ rows: [FoundObject], _ objects: [(object: ManagedObject, keys: ObjectOrder.Keys)], _ order: ObjectOrder
    ) throws -> [FoundObject] {
        var result: [FoundObject] = []
        result.reserveCapacity(rows.count + objects.count)
        var start = 0
        for (object, keys) in objects {
            var low = start
            var high = rows.count
            while low < high {
                let middle = (low + high) / 2
                if try order.precedes(self.object(rows[middle]), keys) { low = middle + 1 } else { high = middle }
            }
            result += rows[start..<low]
            result.append(.object(object))
            start = low
        }
        return result + rows[start...]
    }

    /// Tests every object of the entity in memory.
    func findInMemory(_ fetch: ValidatedFetch, excluding keys: Set<UInt64>) throws -> [FoundObject] {
        let (request, entity) = (fetch.request, fetch.entity)
        let rows = try stored(fetch.withoutPredicate, excluding: keys).map(object)
        let new = pendingView(entity, includesSubentities: request.includesSubentities, reads: RequestPaths(request, entity).own)
            .inserted.filter { !keys.contains($0.registryKey) && isIn(request, $0) }
        let seen = Set(rows)
        let candidates = try matching(rows + new.filter { !seen.contains($0) }, fetch)
        let sorted = try ObjectOrder(fetch).sorted(candidates)
        return request.window.of(sorted).map { .object($0.object) }
    }
}

/// The objects that differ from the store in the properties that a request reads.
struct PendingOverlay {
    /// The objects that may satisfy the request with their values in memory.
    let candidates: [ManagedObject]
    /// The keys of the objects that the store or the parent may find too.
    let alteredKeys: Set<UInt64>
    /// The number of objects that differ.
    let count: Int

    /// The keys to exclude from the store's results, together with the given ones.
    func excluded(and keys: Set<UInt64>) -> Set<UInt64> { keys.isEmpty ? alteredKeys : keys.union(alteredKeys) }
}

extension PredicateAnalysis.Term {
    /// The values of which an object must have one to satisfy the term, in the form that the property stores; nil if the term is not such a condition.
    fileprivate func valuesToLookUp(_ property: PropertyDescription) -> [PropertyValue]? {
        guard modifier == .direct, options.isEmpty, !property.isToMany else { return nil }
        switch (comparator, value) {
        case (.equal, _): return property.isHeldLike(value) ? [value] : nil
        case (.in, .array(let values)): return values.allSatisfy(property.isHeldLike) ? values : nil
        case (.in, .set(let values)): return values.allSatisfy(property.isHeldLike) ? Array(values) : nil
        default: return nil
        }
    }
}

extension PropertyDescription {
    /// True if only identical values of this property equal the value, so the value can be looked up.
    fileprivate func isHeldLike(_ value: PropertyValue) -> Bool {
        switch (attributeType, value) {
        case (.string, .string), (.integer64, .int), (.integer32, .int), (.integer16, .int), (.uuid, .uuid), (.date, .date),
            (.boolean, .bool), (.uri, .uri), (.objectID, .objectID):
            true
        default: false
        }
    }
}
