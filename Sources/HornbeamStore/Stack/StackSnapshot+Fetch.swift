internal import HornbeamEngine
package import HornbeamModel

/// Fetches over several stores: each store is fetched alone, and the results are merged.
extension StackSnapshot {
    /// The objects that match a request, in the order of its sort criteria, then by store and key.
    ///
    /// - Throws: The errors of `StoreSnapshot.fetch`.
    package func fetch(
        _ fetch: ValidatedFetch, excluding: Set<UInt64> = [], control: FetchControl? = nil
    ) throws -> FetchAnswer {
        let request = fetch.request
        if let only, request.affectedStores == nil { return try only.fetch(fetch, excluding: excluding, control: control) }
        let slots = stack.slots(for: request)
        if slots.count == 1 { return try answer(of: slots[0], fetch, excluding, control) }
        let whole = fetch.upToWindow
        var merged = FetchAnswer()
        var found: [Found] = []
        for slot in slots {
            let answer = try answer(of: slot, whole, excluding, control)
            merged.work.add(answer.work)
            found += try results(answer, slot, request)
        }
        if !request.sortDescriptors.isEmpty { found.sort { $0.precedes($1, request.sortDescriptors) } }
        let results = request.window.of(found)
        merged.rows = ResultSet(results.map(\.row.reference), results.map(\.row.hint))
        return merged
    }

    private func answer(
        of slot: StoreSlot, _ fetch: ValidatedFetch, _ excluding: Set<UInt64>, _ control: FetchControl?
    ) throws -> FetchAnswer {
        var answer = try part(slot).fetch(fetch, excluding: own(excluding, slot), control: control)
        if slot != .first { answer.rows.move(to: slot) }
        return answer
    }

    private func results(_ answer: FetchAnswer, _ slot: StoreSlot, _ request: FetchDescription) throws -> [Found] {
        let part = try part(slot)
        return try answer.rows.map { row in
            let object = StoredObject(row.reference.local, snapshot: part)
            return Found(row: row, values: try request.sortDescriptors.map { try $0.key(of: .object(object), $0.steps) })
        }
    }

    /// The keys of the stack that belong to a store, as local keys.
    private func own(_ keys: Set<UInt64>, _ slot: StoreSlot) -> Set<UInt64> {
        if keys.isEmpty || only != nil { return keys }
        return Set(keys.lazy.filter { StoreSlot(ofKey: $0) == slot }.map(StoreSlot.local))
    }

    /// The direct fetch of requests of a shape; nil if there are several stores, or the store kept no plan over one index for the shape.
    package func directFetch(of shape: RequestShape, counting: Bool) throws -> DirectFetch? {
        guard let only, !stack.isIncremental, stack.queryingStore == nil, let kept = only.keptPlan(shape, counting: counting) else { return nil }
        return try EngineError.translated { () throws(EngineError) in
            try kept.mustRead(counting: counting) ? DirectFetch(kept, in: only) : nil
        }
    }

    /// The direct fetch of dictionaries for requests of the shape of `fetch`; nil as for objects, and for dictionaries of another kind.
    package func directDictionaries(of fetch: ValidatedFetch) throws -> DirectDictionaries? {
        guard let only else { return nil }
        let program = try fetch.dictionaryProgram()
        guard DirectDictionaries.canServe(program) else { return nil }
        let objects = program.isGrouped ? fetch.withoutOrder : fetch.objects(for: program)
        guard let shape = objects.shape, let direct = try directFetch(of: shape, counting: false) else { return nil }
        return DirectDictionaries(direct, program, in: only)
    }

    /// The results of a request in portions; nil as in `StoreSnapshot.portions`, and if there are several stores.
    package func portions(of fetch: ValidatedFetch) throws -> ScanPortions? {
        guard let only, fetch.request.affectedStores == nil else { return nil }
        return try only.portions(of: fetch)
    }

    /// The number of objects that a fetch of the request returns, with its offset and limit.
    package func count(_ fetch: ValidatedFetch, excluding: Set<UInt64> = []) throws -> Int {
        try countAnswer(fetch, excluding: excluding).count
    }

    /// Like `count`, with statistics of the execution.
    package func countAnswer(_ fetch: ValidatedFetch, excluding: Set<UInt64> = []) throws -> CountAnswer {
        let request = fetch.request
        if let only, request.affectedStores == nil { return try only.countAnswer(fetch, excluding: excluding) }
        let whole = fetch.withoutWindow
        var merged = CountAnswer(count: 0)
        for slot in stack.slots(for: request) {
            let answer = try part(slot).countAnswer(whole, excluding: own(excluding, slot))
            merged.count += answer.count
            merged.work.add(answer.work)
        }
        merged.count = request.window.count(of: merged.count)
        return merged
    }

    /// Describes the plan of a request as text, store by store.
    package func explain(_ fetch: ValidatedFetch) throws -> String {
        if let only { return try only.explain(fetch) }
        return try stack.slots(for: fetch.request).map { slot in
            "\(try stack.store(in: slot).location):\n" + (try part(slot).explain(fetch))
        }.joined(separator: "\n")
    }
}

extension FetchWork {
    /// An index that would make the fetch faster; nil when there is none, or for a fetch over several stores.
    package func advice(in snapshot: StackSnapshot) -> IndexAdvice? { snapshot.only.flatMap(advice) }
}

/// One result with its sort values.
private struct Found {
    let row: ResultRow
    let values: [PropertyValue]

    func precedes(_ other: Found, _ sorts: [FetchSort]) -> Bool {
        for (place, sort) in sorts.enumerated() {
            switch sort.order(values[place], other.values[place]) {
            case .less: return true
            case .greater: return false
            case .same: continue
            }
        }
        return row.reference.key < other.row.reference.key
    }
}
