internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads
internal import Synchronization

/// The plan of a request shape, which is bound to the constants of each request.
///
/// It keeps the planner's choice and the filters that were compiled last, but not the constants of the first request. Binding computes the
/// ranges of the chosen index with the planner's own code, so a bound plan is one of the plans that the planner compares, and has the same
/// results. It does not count entries and does not look at other indexes. Only plans that read few rows are kept. If a request would read many
/// more rows than the first one of its shape, it is planned again.
final class KeptPlan: Sendable {
    /// A plan that reads more entries is not kept.
    private static let entriesMax = 256
    /// The number of entries that each bound plan may read.
    private static let entriesAlways = 64

    enum Path {
        /// Equality with the only element of an index, and no further condition.
        case lookUp(ValueIndex)
        /// Equality with the only element of an index, and further conditions.
        case equal(ValueIndex, position: Int)
        /// Ranges of an index. The access has no ranges.
        case index(ValueIndex, IndexAccess)
        /// The members of the object in a condition.
        case members(LinkIndex, position: Int)
        /// Ranges of an index for each part of an OR.
        case union([ValueIndex], position: Int)
    }

    let path: Path
    /// The first plan of the shape, without its conditions and ranges.
    let plan: FetchPlan
    /// The conditions without their constants; nil if the predicate is no comparison and no AND of comparisons.
    private let terms: [PredicateAnalysis.Term]?
    private let conjunctCount: Int
    /// The positions of the conditions that the path does not satisfy.
    private let residualPositions: [Int]
    /// True if the plan is executed without a plan of its own (`DirectFetch`).
    let isDirect: Bool
    private let isCounting: Bool
    /// The largest number of entries or rows that a bound plan reads.
    let workMax: Int
    private let filterCache = Guarded<BoundFilters?>(nil)
    /// The last version of the store in which the index was seen to contain no truncated key; 0 for none.
    private let wholeKeysVersion = Atomic<UInt64>(0)

    /// The filters of the residual conditions, for their constants in one version of the store.
    private struct BoundFilters {
        let constants: [PropertyValue]
        /// The version of the store in which unique values were found; nil if the filters hold in every version.
        let transaction: UInt64?
        let filters: [Filter?]
    }

    var isExact: Bool { residualPositions.isEmpty }

    /// The number of constants of a request of the shape; 0 if the plan is not direct.
    var constantCount: Int { terms?.count ?? 0 }

    /// False for a count of the entries in a range, which are counted without reading them.
    func mustRead(counting: Bool) -> Bool {
        guard counting, isExact, case .index = path else { return true }
        return false
    }

    /// Nil for a plan that reads many rows or has another kind of path.
    init?(_ plan: FetchPlan, of fetch: ValidatedFetch, counting: Bool, in schema: Schema) {
        guard fetch.shape != nil, let (path, workMax) = Self.path(of: plan, counting: counting, schema) else { return nil }
        self.path = path
        self.workMax = workMax
        isCounting = counting
        terms = plan.terms(of: fetch.request)
        conjunctCount = plan.conjuncts.count
        residualPositions = plan.conjuncts.indices.filter { !plan.choice.used.contains($0) }
        isDirect = terms != nil && plan.isDirect(path)
        self.plan = plan.withoutConstants
    }

    private static func path(of plan: FetchPlan, counting: Bool, _ schema: Schema) -> (Path, workMax: Int)? {
        let few = max(entriesAlways, 4 * plan.choice.entries)
        switch plan.choice.path {
        case .index(let access) where access.order != nil:
            guard let wanted = plan.window.end, plan.window.offset == 0, wanted <= entriesMax else { return nil }
            return (.index(access.index, access.withoutRanges), max(entriesMax, 16 * wanted))
        case .index(let access) where plan.choice.entries <= entriesMax:
            guard let position = plan.positionOfLookup(in: access.index, schema) else { return (.index(access.index, access.withoutRanges), few) }
            return (!counting && plan.isExact && plan.sorts.isEmpty ? .lookUp(access.index) : .equal(access.index, position: position), few)
        case .members(let link, let owners, nil) where owners.count == 1 && plan.choice.entries <= entriesMax:
            guard plan.choice.used.count == 1, let position = plan.choice.used.first, plan.term(position)?.comparator == .equal else { return nil }
            return (.members(link, position: position), few)
        case .union(let parts) where plan.choice.entries <= entriesMax:
            guard plan.choice.used.count == 1, let position = plan.choice.used.first, case .other(let node) = plan.conjuncts[position],
                PredicateAnalysis.terms(ofAnyIn: node)?.count == parts.count
            else { return nil }
            var indexes: [ValueIndex] = []
            for part in parts { if case .index(let access) = part.path { indexes.append(access.index) } }
            return indexes.count == parts.count ? (.union(indexes, position: position), few) : nil
        default: return nil
        }
    }

    /// The index and the key of a lookup; nil for another kind of plan, or if the key is too long.
    func lookUp(_ request: FetchDescription, in snapshot: StoreSnapshot) -> (index: ValueIndex, key: [UInt8])? {
        guard case .lookUp(let index) = path else { return nil }
        guard let value = request.constants.first, let key = index.lookupKey(value, origins: snapshot.reader.origins) else { return nil }
        return (index, key)
    }

    /// The plan for the constants of a request of the shape; nil if the planner must choose again.
    func bound(to request: FetchDescription, in snapshot: StoreSnapshot) throws(EngineError) -> FetchPlan? {
        var bound = plan
        bound.conjuncts = conjuncts(of: request)
        guard bound.conjuncts.count == conjunctCount, try choose(&bound, snapshot) else { return nil }
        if isCounting, isExact { bound.choice.entries = try planner(bound, snapshot).countEntries(bound.choice.path) }
        if !isExact {
            bound.residual = residualPositions.map { bound.conjuncts[$0] }
            bound.filters = try residualFilters(request, snapshot)
        }
        return bound
    }

    // MARK: Ranges

    /// The range of an index on one attribute that the used conditions select with the constants of a request; nil if the request must be planned.
    func range(_ constants: [PropertyValue], of index: ValueIndex, in snapshot: StoreSnapshot) throws(EngineError) -> KeyRange? {
        guard let terms else { return nil }
        var used: [(position: Int, term: PredicateAnalysis.Term)] = []
        for position in constants.indices where plan.choice.used.contains(position) {
            var term = terms[position]
            term.value = constants[position]
            used.append((position, term))
        }
        guard try hasWholeKeys(index, in: snapshot) else { return nil }
        let bounds = IndexBounds(element: index.elements[0], origins: snapshot.reader.origins, containsNulls: !index.isUnique)
        guard let match = bounds.match(used, []), match.used.count == used.count, let range = match.range,
            max(range.lower.count, range.upper?.count ?? 0) <= IndexBounds.exactMax
        else { return nil }
        return KeyRange(from: range.lower, to: range.upper)
    }

    /// False if the index may contain truncated keys, whose order is not that of their values.
    private func hasWholeKeys(_ index: ValueIndex, in snapshot: StoreSnapshot) throws(EngineError) -> Bool {
        guard index.mayTruncateKeys, wholeKeysVersion.load(ordering: .relaxed) != snapshot.transaction else { return true }
        guard try snapshot.engineSnapshot.value(index.truncatedKeysName) == nil else { return false }
        wholeKeysVersion.store(snapshot.transaction, ordering: .relaxed)
        return true
    }

    private func conjuncts(of request: FetchDescription) -> [PredicateAnalysis.Conjunct] {
        guard var terms else { return PredicateAnalysis(request.predicate).conjuncts }
        for (position, value) in request.constants.enumerated() { terms[position].value = value }
        return terms.map { .term($0) }
    }

    private func planner(_ bound: FetchPlan, _ snapshot: StoreSnapshot) -> AccessPlanner {
        AccessPlanner(
            snapshot: snapshot, entity: plan.entity, tables: plan.tables, conjuncts: bound.conjuncts, sorts: plan.sorts, window: plan.window,
            isCounting: isCounting)
    }

    /// Sets the ranges of the path. False if the path does not serve the constants.
    private func choose(_ bound: inout FetchPlan, _ snapshot: StoreSnapshot) throws(EngineError) -> Bool {
        switch path {
        case .lookUp(let index): return chooseKey(of: index, at: 0, &bound, snapshot)
        case .equal(let index, let position): return chooseKey(of: index, at: position, &bound, snapshot)
        case .index(let index, let kept):
            let planner = planner(bound, snapshot)
            guard let (access, used) = try planner.indexPath(index, planner.terms), used == plan.choice.used, access.isWhole == kept.isWhole,
                access.order == kept.order
            else { return false }
            bound.choice.path = .index(access)
        case .members(let link, let position):
            guard let term = bound.term(position), let objects = planner(bound, snapshot).compiler?.objectKeys(term), !objects.hasNull,
                objects.keys.count == 1
            else { return false }
            bound.choice.path = .members(link, owners: Array(objects.keys), via: nil)
        case .union(let indexes, let position):
            guard case .other(let node) = bound.conjuncts[position], let parts = try union(of: indexes, node, bound, snapshot) else { return false }
            bound.choice.path = .union(parts)
        }
        return true
    }

    /// Sets the range of the entries with the constant of a condition.
    private func chooseKey(of index: ValueIndex, at position: Int, _ bound: inout FetchPlan, _ snapshot: StoreSnapshot) -> Bool {
        guard let term = bound.term(position), let key = index.lookupKey(term.value, origins: snapshot.reader.origins) else { return false }
        bound.choice.path = .index(IndexAccess(index: index, ranges: [KeyRange(prefix: key)], isWhole: false))
        return true
    }

    /// The ranges of the parts of an OR; nil if an index does not serve its part.
    private func union(
        of indexes: [ValueIndex], _ node: FetchPredicate.Node, _ bound: FetchPlan, _ snapshot: StoreSnapshot
    ) throws(EngineError) -> [AccessChoice]? {
        guard let terms = PredicateAnalysis.terms(ofAnyIn: node), terms.count == indexes.count else { return nil }
        var parts: [AccessChoice] = []
        for (index, term) in zip(indexes, terms) {
            let planner = AccessPlanner(snapshot: snapshot, entity: plan.entity, tables: plan.tables, conjuncts: [.term(term)], depth: 1)
            guard let (access, used) = try planner.indexPath(index, planner.terms), used == [0] else { return nil }
            parts.append(AccessChoice(.index(access), used: used, entries: try planner.countEntries(.index(access))))
        }
        return parts
    }

    // MARK: Filters

    /// The filters of the conditions that the path does not satisfy: those that were compiled last, if the constants are the same.
    func residualFilters(_ request: FetchDescription, _ snapshot: StoreSnapshot) throws(EngineError) -> [Filter?] {
        if let known = filterCache.withLock({ $0 }), known.transaction ?? snapshot.transaction == snapshot.transaction,
            hasResidualConstants(request.constants, known.constants)
        {
            return known.filters
        }
        let conjuncts = conjuncts(of: request)
        let residual = residualPositions.map { conjuncts[$0] }
        var conditions: [PredicateAnalysis.Conjunct] = []
        for conjunct in residual { conditions.append(try snapshot.resolvingUniqueValue(conjunct, of: plan.entity)) }
        var compiled = [Filter?](repeating: nil, count: snapshot.schema.tables.count)
        for table in plan.tables { compiled[Int(table.index)] = FilterCompiler(snapshot.reader, table).compile(conditions) }
        let made = BoundFilters(
            constants: request.constants, transaction: conditions == residual ? nil : snapshot.transaction, filters: compiled)
        filterCache.withLock { $0 = made }
        return compiled
    }

    /// True if two requests of the shape have the same constants in the conditions that the path does not satisfy.
    func hasResidualConstants(_ constants: [PropertyValue], _ others: [PropertyValue]) -> Bool {
        guard terms != nil else { return false }
        for position in residualPositions where constants[position] != others[position] { return false }
        return true
    }
}
