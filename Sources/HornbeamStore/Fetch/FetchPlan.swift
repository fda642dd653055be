internal import HornbeamEngine
internal import HornbeamModel

/// A fetch made ready: which tables, which path, which filters, which order.
struct FetchPlan: Sendable {
    let entity: EntityDescription
    let tables: [EntityTable]
    let choice: AccessChoice
    /// What is left to be asked of rows, by entity index; nil for tables that are not read.
    let filters: [Filter?]
    let residual: [PredicateAnalysis.Conjunct]
    let sorts: [SortKey]
    let offset: Int
    /// Nil for all.
    let limit: Int?

    init(_ request: FetchDescription, in snapshot: StoreSnapshot, counting: Bool) throws {
        let schema = snapshot.schema
        entity = try schema.model.entity(named: request.entityName)
        tables = schema.tables(of: entity, includingSubentities: request.includesSubentities)
        let predicate = try request.predicate?.validated(for: entity)
        let analysis = PredicateAnalysis(predicate)
        for sort in request.sortDescriptors { try sort.validated(for: entity) }
        // A count does not look at the order.
        sorts = try counting ? [] : request.sortDescriptors.map { try SortKey($0, schema.model.entity(named: request.entityName)) }
        offset = max(0, request.fetchOffset)
        limit = request.fetchLimit > 0 ? request.fetchLimit : nil
        let all = Self.filters(analysis.conjuncts, tables, snapshot)
        if analysis.isNever || tables.isEmpty {
            let all = Set(analysis.conjuncts.indices)
            choice = AccessChoice(path: .nothing, used: all, entries: 0, isOrdered: true)
        } else {
            let cost = Self.scanCost(all)
            let planner = AccessPlanner(
                snapshot: snapshot, entity: entity, tables: tables, conjuncts: analysis.conjuncts, sorts: sorts,
                scanCost: cost, wanted: limit.map { $0 + max(0, request.fetchOffset) })
            choice = try EngineError.translated { () throws(EngineError) in try planner.choose() }
        }
        let used = choice.used
        residual = analysis.conjuncts.enumerated().filter { !used.contains($0.offset) }.map(\.element)
        filters = used.isEmpty ? all : Self.filters(residual, tables, snapshot)
    }

    private static func filters(
        _ conjuncts: [PredicateAnalysis.Conjunct], _ tables: [EntityTable], _ snapshot: StoreSnapshot
    ) -> [Filter?] {
        var filters = [Filter?](repeating: nil, count: snapshot.schema.tables.count)
        for table in tables {
            filters[Int(table.index)] = FilterCompiler(snapshot.reader, table).compile(conjuncts)
        }
        return filters
    }

    /// What a scanned row costs, in cells of a column.
    private static func scanCost(_ filters: [Filter?]) -> Int {
        max(1, filters.compactMap { $0?.cost }.max() ?? 1)
    }

    /// True when every row or entry reached is a result.
    var isExact: Bool { residual.isEmpty }

    /// How many results must be known before the first ones can be cut out; nil for all.
    var kept: Int? { limit.map { $0 + offset } }
}

// MARK: Printing

extension FetchPlan {
    var description: Plan {
        var plan = Plan()
        plan.entity = entity.name
        plan.access = accessText
        if !residual.isEmpty {
            let kind = filters.compactMap { $0?.kind }.max() ?? .columns
            plan.filter = "filter \(kind.words): \(residualText)"
        }
        plan.order = orderText
        plan.window = windowText
        return plan
    }

    private var accessText: String {
        switch choice.path {
        case .nothing: "nothing: no object can satisfy the predicate"
        case .scan: "scan \(tables.map(\.entity.name).joined(separator: ", ")): \(rows(choice.entries, "row"))"
        case .keys: "look up \(rows(choice.entries, "object")) by ID"
        case .members(let link, _):
            "members of \(link.relationship.entity.name).\(link.relationship.name): \(rows(choice.entries, "entry"))"
        case .index(let access): indexText(access)
        }
    }

    private func indexText(_ access: IndexAccess) -> String {
        let kind = access.index.isUnique ? "unique index" : "index"
        if access.used.isEmpty { return "\(kind) \(access.index.title): all \(rows(choice.entries, "entry"))" }
        let count = access.ranges.count == 1 ? "" : ", \(access.ranges.count) ranges"
        return "\(kind) \(access.index.title)\(count): \(rows(choice.entries, "entry"))"
    }

    private func rows(_ count: Int, _ noun: String) -> String {
        if count == 1 { return "1 \(noun)" }
        return "\(count) " + (noun == "entry" ? "entries" : noun + "s")
    }

    private var residualText: String {
        let nodes = residual.map { conjunct in
            switch conjunct {
            case .term(let term): term.node
            case .other(let node): node
            }
        }
        return FetchPredicate(node: nodes.count == 1 ? nodes[0] : .and(nodes)).description
    }

    private var orderText: String {
        if sorts.isEmpty { return "order by ID" }
        let text = sorts.map(\.text).joined(separator: ", ")
        if choice.isOrdered { return "order by \(text) from the index" }
        return kept == nil ? "sort by \(text)" : "sort by \(text), keeping the first \(kept ?? 0)"
    }

    private var windowText: String? {
        if offset == 0, limit == nil { return nil }
        let skip = offset > 0 ? "skip \(offset)" : nil
        let take = limit.map { "take \($0)" }
        return [skip, take].compactMap { $0 }.joined(separator: ", ")
    }
}

extension SortKey {
    fileprivate var text: String {
        path.map(\.name).joined(separator: ".") + collation.suffix + (isAscending ? "" : " descending")
    }
}

extension Filter.Kind {
    fileprivate var words: String {
        switch self {
        case .columns: "columns"
        case .texts: "columns, then texts"
        case .relationships: "columns, then related objects"
        case .evaluator: "row by row"
        }
    }
}
