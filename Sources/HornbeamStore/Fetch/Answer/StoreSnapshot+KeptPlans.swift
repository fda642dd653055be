internal import HornbeamEngine
internal import HornbeamModel

/// Executes fetches with the plan that was kept for the request's shape.
extension StoreSnapshot {
    /// Keeps a plan for further requests of the shape, if it reads few rows.
    func keep(_ plan: FetchPlan, of fetch: ValidatedFetch, counting: Bool) {
        guard let shape = fetch.shape, let kept = KeptPlan(plan, of: fetch, counting: counting, in: schema) else { return }
        schema.keptPlans.keep(kept, for: shape, isCounting: counting)
    }

    func keptPlan(_ shape: RequestShape, counting: Bool) -> KeptPlan? { schema.keptPlans.object(for: shape, isCounting: counting) as? KeptPlan }

    /// Nil if the request must be planned.
    func fetchByKeptPlan(_ fetch: ValidatedFetch, _ excluding: Set<UInt64>, _ control: FetchControl?) throws -> FetchAnswer? {
        guard let shape = fetch.shape, let kept = keptPlan(shape, counting: false) else { return nil }
        if excluding.isEmpty, control == nil, let direct = try directFetch(by: kept) { return try direct.answer(fetch.request) }
        if let (index, key) = kept.lookUp(fetch.request, in: self) { return try lookUp(fetch.request, kept, index, key, excluding) }
        guard let plan = try bound(kept, to: fetch.request) else { return nil }
        return try execute(plan, excluding, FilterContext(self, control: control), workMax: kept.workMax)
    }

    /// Nil if the request must be planned.
    func countByKeptPlan(_ fetch: ValidatedFetch, _ excluding: Set<UInt64>) throws -> CountAnswer? {
        guard let shape = fetch.shape, let kept = keptPlan(shape, counting: true) else { return nil }
        // The entries of an exact plan are counted without reading them.
        if excluding.isEmpty, !kept.isExact, let direct = try directFetch(by: kept) { return try direct.countAnswer(fetch.request) }
        guard let plan = try bound(kept, to: fetch.request) else { return nil }
        return try executeCount(plan, excluding, workMax: kept.workMax)
    }

    /// The kept plan for the constants of a request, and the largest number of entries or rows that it may read; nil if the request must be planned.
    func boundPlan(for fetch: ValidatedFetch) throws -> (plan: FetchPlan, workMax: Int)? {
        guard let shape = fetch.shape, let kept = keptPlan(shape, counting: false), let plan = try bound(kept, to: fetch.request) else { return nil }
        return (plan, kept.workMax)
    }

    private func bound(_ kept: KeptPlan, to request: FetchDescription) throws -> FetchPlan? {
        try EngineError.translated { () throws(EngineError) in try kept.bound(to: request, in: self) }
    }

    private func directFetch(by kept: KeptPlan) throws -> DirectFetch? {
        try EngineError.translated { () throws(EngineError) in try DirectFetch(kept, in: self) }
    }

    /// Nil if too many objects have the key.
    private func lookUp(
        _ request: FetchDescription, _ kept: KeptPlan, _ index: ValueIndex, _ key: [UInt8], _ excluding: Set<UInt64>
    ) throws -> FetchAnswer? {
        let entity = kept.plan.entity
        let found = try EngineError.translated { () throws(EngineError) in
            index.isUnique ? try holder(of: key, index).map { [$0] } ?? [] : try holders(of: key, index, atMost: kept.workMax)
        }
        guard var wanted = found else { return nil }
        if !excluding.isEmpty || index.isPolymorphic || index.entity !== entity {
            wanted = wanted.filter { kept.plan.isRequested[Int($0.entityIndex)] && !excluding.contains($0.key) }
        }
        let work = FetchWork(DirectLookup(entity: entity, index: index, count: wanted.count))
        if !request.window.isWhole { wanted = Array(request.window.of(wanted)) }
        return FetchAnswer(rows: ResultSet(wanted), work: work)
    }

    private func holder(of key: [UInt8], _ index: ValueIndex) throws(EngineError) -> ObjectReference? {
        let view = try engineSnapshot.index(index.tree)
        guard !index.isPolymorphic else {
            return try view.get(key).map { (value) throws(EngineError) in
                try UniqueKeys.holder(value, index, schema: schema)
            }
        }
        return unsafe try key.withRawBytes { (key) throws(EngineError) in
            unsafe try view.getObjectKey(key).map { ObjectReference(entityIndex: index.onlyEntity, key: $0) }
        }
    }

    /// The objects with a key, in ascending order of their object keys; nil when there are too many.
    private func holders(of key: [UInt8], _ index: ValueIndex, atMost foundMax: Int) throws(EngineError) -> [ObjectReference]? {
        let view = try engineSnapshot.index(index.tree)
        let found = try index.objects(in: KeyRange(prefix: key), of: view, schema: schema, most: foundMax + 1)
        return found.count <= foundMax ? found : nil
    }
}

extension ValueIndex {
    /// The key of a value in an index on one property; nil when the request must be planned.
    func lookupKey(_ value: PropertyValue, origins: @autoclosure () -> StoreIdentities) -> [UInt8]? {
        var key: [UInt8] = []
        return setLookupKey(&key, value, origins: origins()) ? key : nil
    }

    /// Sets a key that is reused for further values. False when the request must be planned.
    func setLookupKey(_ key: inout [UInt8], _ value: PropertyValue, origins: @autoclosure () -> StoreIdentities) -> Bool {
        if case .string(var text) = value, elements[0].type == .string {
            key.removeAll(keepingCapacity: true)
            key.reserveCapacity(text.utf8.count + 3)
            key.append(KeyBytes.present)
            text.withUTF8 { unsafe KeyBytes.appendEscaped(UnsafeRawBufferPointer($0), to: &key) }
            if !elements[0].isAscending { KeyBytes.complement(&key, from: 0) }
            return key.count <= IndexBounds.exactMax
        }
        guard let found = lookupKey(notOfText: value, origins()) else { return false }
        key = found
        return true
    }

    private func lookupKey(notOfText value: PropertyValue, _ origins: StoreIdentities) -> [UInt8]? {
        let bounds = IndexBounds(element: elements[0], origins: origins, containsNulls: false)
        let node = FetchPredicate.Node.comparison(
            FetchPredicate.Comparison(.keyPath(elements[0].property.name), .equal, .constant(value)))
        guard let term = PredicateAnalysis.term(node), let match = bounds.match([(0, term)], []), let equal = match.equal, equal.count == 1 else { return nil }
        return equal[0]
    }
}

/// An executed lookup, formatted as text on request.
struct DirectLookup: Sendable {
    let entity: EntityDescription
    let index: ValueIndex
    let count: Int

    var plan: Plan {
        var plan = Plan()
        plan.entity = entity.name
        plan.access = "\(index.isUnique ? "unique index" : "index") \(index.title): \(count == 1 ? "1 entry" : "\(count) entries")"
        plan.order = "order by ID"
        return plan
    }
}
