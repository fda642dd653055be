internal import HornbeamEngine
internal import HornbeamModel

/// A planned fetch: its tables, access path, filters and order.
struct FetchPlan: Sendable {
    let entity: EntityDescription
    let tables: [EntityTable]
    let choice: AccessChoice
    /// The filter for the remaining conditions, by entity index; nil for tables that are not read.
    let filters: [Filter?]
    let residual: [PredicateAnalysis.Conjunct]
    let sorts: [SortKey]
    var offset = 0
    /// Nil for all.
    var limit: Int?

    init(_ request: FetchDescription, in snapshot: StoreSnapshot, counting: Bool) throws {
        let (planner, analysis) = try Self.planner(request, in: snapshot, counting: counting)
        let never = analysis.isNever || planner.tables.isEmpty
        self = try EngineError.translated { () throws(EngineError) in
            never ? FetchPlan(nothing: planner) : try FetchPlan(planner)
        }
        setWindow(request)
    }

    /// A planner for a request.
    private static func planner(
        _ request: FetchDescription, in snapshot: StoreSnapshot, counting: Bool
    ) throws -> (AccessPlanner, PredicateAnalysis) {
        let schema = snapshot.schema
        let entity = try schema.model.entity(named: request.entityName)
        let tables = schema.tables(of: entity, includingSubentities: request.includesSubentities)
        let predicate = try request.predicate?.validated(for: entity)
        let analysis = PredicateAnalysis(predicate)
        for sort in request.sortDescriptors { try sort.validated(for: entity) }
        // A count ignores the order.
        let sorts = try counting ? [] : request.sortDescriptors.map { try SortKey($0, entity) }
        let planner = AccessPlanner(
            snapshot: snapshot, entity: entity, tables: tables, conjuncts: analysis.conjuncts,
            sorts: sorts.filter { !$0.isFixed(by: analysis.conjuncts) },
            wanted: request.fetchLimit > 0 ? request.fetchLimit + max(0, request.fetchOffset) : nil,
            offset: max(0, request.fetchOffset), isCounting: counting)
        return (planner, analysis)
    }

    /// The cheapest plan.
    init(_ planner: AccessPlanner) throws(EngineError) {
        var filters: [Filter?] = []
        let choice = try planner.choose {
            filters = Self.filters(planner.conjuncts, planner)
            return filters
        }
        self.init(planner, choice, filters)
    }

    private init(nothing planner: AccessPlanner) {
        let all = Set(planner.conjuncts.indices)
        self.init(planner, AccessChoice(.nothing, used: all, entries: 0, isOrdered: true), [])
    }

    private init(_ planner: AccessPlanner, _ choice: AccessChoice, _ filters: [Filter?]) {
        entity = planner.entity
        tables = planner.tables
        sorts = planner.sorts
        self.choice = choice
        residual = planner.conjuncts.enumerated().filter { !choice.used.contains($0.offset) }.map(\.element)
        self.filters = choice.used.isEmpty && !filters.isEmpty ? filters : Self.filters(residual, planner)
    }

    private mutating func setWindow(_ request: FetchDescription) {
        offset = max(0, request.fetchOffset)
        limit = request.fetchLimit > 0 ? request.fetchLimit : nil
    }

    private static func filters(_ conjuncts: [PredicateAnalysis.Conjunct], _ planner: AccessPlanner) -> [Filter?] {
        let snapshot = planner.snapshot
        var filters = [Filter?](repeating: nil, count: snapshot.schema.tables.count)
        guard !conjuncts.isEmpty else { return filters }
        for table in planner.tables {
            filters[Int(table.index)] = FilterCompiler(snapshot.reader, table).compile(conjuncts)
        }
        return filters
    }

    /// True when every row or entry reached is a result.
    var isExact: Bool { residual.isEmpty }

    /// The number of leading results that must be known; nil for all.
    var kept: Int? { limit.map { $0 + offset } }
}

extension FetchPlan {
    /// Every plan for a request. All return the same results.
    static func all(_ request: FetchDescription, in snapshot: StoreSnapshot, counting: Bool) throws -> [FetchPlan] {
        let (planner, analysis) = try planner(request, in: snapshot, counting: counting)
        guard !analysis.isNever, !planner.tables.isEmpty else { return [try FetchPlan(request, in: snapshot, counting: counting)] }
        return try EngineError.translated { () throws(EngineError) in
            let filters = filters(planner.conjuncts, planner)
            return try planner.all().map { choice in
                var plan = FetchPlan(planner, choice, filters)
                plan.setWindow(request)
                return plan
            }
        }
    }
}

extension SortKey {
    /// True when the conditions fix the value, so that sorting by it has no effect.
    fileprivate func isFixed(by conjuncts: [PredicateAnalysis.Conjunct]) -> Bool {
        conjuncts.contains { conjunct in
            guard case .term(let term) = conjunct, term.comparator == .equal, term.modifier == .direct, term.options.isEmpty
            else { return false }
            return term.names == path.map(\.name) && path[path.count - 1].isAttribute
        }
    }
}
