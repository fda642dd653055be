internal import HornbeamEngine
internal import HornbeamModel

extension FetchPlan {
    init(_ fetch: ValidatedFetch, in snapshot: StoreSnapshot, counting: Bool) throws {
        let (planner, analysis) = try Self.planner(fetch, in: snapshot, counting: counting)
        let never = analysis.isAlwaysFalse || planner.tables.isEmpty
        self = try EngineError.translated { () throws(EngineError) in
            never ? FetchPlan(nothing: planner) : try FetchPlan(planner)
        }
        window = fetch.request.window
    }

    /// A planner for a request.
    private static func planner(
        _ fetch: ValidatedFetch, in snapshot: StoreSnapshot, counting: Bool
    ) throws -> (AccessPlanner, PredicateAnalysis) {
        let request = fetch.request
        let schema = snapshot.schema
        // Containers that share a store have equal models, but separate instances.
        let entity = schema.model.entities[fetch.entity.index]
        let tables = schema.tables(of: entity, includingSubentities: request.includesSubentities)
        let analysis = PredicateAnalysis(request.predicate)
        // A count ignores the order.
        let sorts = try counting ? [] : request.sortDescriptors.map { try SortKey($0, entity) }
        let planner = AccessPlanner(
            snapshot: snapshot, entity: entity, tables: tables, conjuncts: analysis.conjuncts,
            sorts: sorts.filter { !$0.isFixed(by: analysis.conjuncts) },
            window: request.window, isCounting: counting)
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
        conjuncts = planner.conjuncts
        var isRequested = [Bool](repeating: false, count: planner.schema.tables.count)
        for table in planner.tables { isRequested[Int(table.index)] = true }
        self.isRequested = isRequested
        self.choice = choice
        residual = planner.conjuncts.enumerated().filter { !choice.used.contains($0.offset) }.map(\.element)
        self.filters = choice.used.isEmpty && !filters.isEmpty ? filters : Self.filters(residual, planner)
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
}

extension FetchPlan {
    /// Every plan for a request. All plans return the same results.
    static func all(_ fetch: ValidatedFetch, in snapshot: StoreSnapshot, counting: Bool) throws -> [FetchPlan] {
        let (planner, analysis) = try planner(fetch, in: snapshot, counting: counting)
        guard !analysis.isAlwaysFalse, !planner.tables.isEmpty else { return [try FetchPlan(fetch, in: snapshot, counting: counting)] }
        return try EngineError.translated { () throws(EngineError) in
            let filters = filters(planner.conjuncts, planner)
            return try planner.all().map { choice in
                var plan = FetchPlan(planner, choice, filters)
                plan.window = fetch.request.window
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
            // Several decimals equal the same nearest double.
            if type == .decimal, case .double = term.value { return false }
            return term.names == path.map(\.name) && path[path.count - 1].isAttribute
        }
    }
}
