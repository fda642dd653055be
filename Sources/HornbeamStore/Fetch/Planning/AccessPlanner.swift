internal import HornbeamEngine
internal import HornbeamModel

/// Finds the cheapest access path of a fetch. Numbers of entries are exact, because the trees count ranges. Only the selectivity of
/// filters is estimated, from a few leaves.
///
/// Costs are in cells of a scanned column, one to two nanoseconds each.
struct AccessPlanner {
    typealias Term = PredicateAnalysis.Term

    /// The cost of an index entry whose object becomes a result.
    static let entryCost = 8
    /// The cost of a row that is read by key in a batch of ascending keys.
    static let rowCost = 40
    /// The cost of a row that is read by key alone, as in a walk in index order.
    static let singleRowCost = 200
    /// A plan below this cost is used without a search for a better one.
    static let cheap = 4 * rowCost

    let snapshot: StoreSnapshot
    let entity: EntityDescription
    let tables: [EntityTable]
    let conjuncts: [PredicateAnalysis.Conjunct]
    var sorts: [SortKey] = []
    /// The part of the results that is needed.
    var window = FetchWindow()
    /// True when only the number of results is needed.
    var isCounting = false
    /// The nesting of this planner in others: one level for each followed relationship and for each union.
    var depth = 0

    var schema: Schema { snapshot.schema }

    var terms: [(position: Int, term: Term)] {
        conjuncts.enumerated().compactMap { position, conjunct in
            if case .term(let term) = conjunct { (position, term) } else { nil }
        }
    }

    var rowTotal: Int { tables.reduce(0) { $0 + snapshot.view($1).count } }

    // MARK: The choice

    /// - Parameter filters: Called only if no plan over an index costs at most `cheap`, so that a scan must be compared.
    func choose(scanning filters: () -> [Filter?]) throws(EngineError) -> AccessChoice {
        let own = try ownAlternatives()
        if let cheapest = own.min(by: { cost($0) < cost($1) }), cost(cheapest) <= min(Self.cheap, rowTotal) { return cheapest }
        let filters = filters()
        var best = scanChoice
        var bestCost = scanCost(filters)
        for choice in own { try weigh(choice, filters, &best, &bestCost) }
        if bestCost <= Self.cheap { return best }
        let related = try relatedAlternatives(besides: best, cost: bestCost)
        for choice in related { try weigh(choice, filters, &best, &bestCost) }
        if bestCost <= Self.cheap { return best }
        for choice in try setAlternatives(own + related) { try weigh(choice, filters, &best, &bestCost) }
        return best
    }

    /// Every access path, the scan first. All paths lead to the same results.
    func all() throws(EngineError) -> [AccessChoice] {
        let own = try ownAlternatives()
        let related = try relatedAlternatives(besides: nil)
        return try [scanChoice] + own + related + setAlternatives(own + related)
    }

    var scanChoice: AccessChoice {
        AccessChoice(.scan, used: [], entries: rowTotal, isOrdered: sorts.isEmpty && tables.count == 1)
    }

    /// The cheapest access path that is no scan, for a part of a predicate; nil when there is none.
    func cheapestAlternative() throws(EngineError) -> AccessChoice? {
        let own = try ownAlternatives()
        let all = try own + setAlternatives(own)
        return all.min { cost($0) < cost($1) }
    }

    private func weigh(
        _ choice: AccessChoice, _ filters: [Filter?], _ best: inout AccessChoice, _ bestCost: inout Int
    ) throws(EngineError) {
        var cost = cost(choice)
        if choice.isOrdered, let wanted = window.end, !sorts.isEmpty { cost = min(cost, try orderedCost(choice, wanted, filters)) }
        guard cost < bestCost || choice.entries == 0 && choice.walked == 0 else { return }
        best = choice
        bestCost = cost
    }

    // MARK: Costs

    private func needsRows(_ choice: AccessChoice) -> Bool {
        choice.used.count < conjuncts.count || !(choice.isOrdered || sorts.isEmpty)
    }

    func cost(_ choice: AccessChoice) -> Int {
        if !needsRows(choice), isCounting, choice.walked == choice.entries { return Self.entryCost }
        let row = needsRows(choice) ? (choice.isOrdered && !sorts.isEmpty ? Self.singleRowCost : Self.rowCost) : 0
        return choice.walked * Self.entryCost + choice.entries * row + sortCost(choice.entries, choice)
    }

    /// A walk in index order ends after the last needed result.
    private func orderedCost(_ choice: AccessChoice, _ wanted: Int, _ filters: [Filter?]) throws(EngineError) -> Int {
        // Entries that the offset skips are counted, not walked. A limit can be far above the number of entries.
        guard needsRows(choice) else { return min(wanted - window.offset, choice.entries) * Self.entryCost }
        let passing = try Selectivity(snapshot, tables).estimate(filters)
        let visited = min(Double(choice.entries), Double(wanted) / max(passing, 1e-6))
        return Int(visited) * (Self.entryCost + Self.singleRowCost)
    }

    private func scanCost(_ filters: [Filter?]) -> Int {
        let total = rowTotal
        let row = max(1, filters.compactMap { $0?.cost }.max() ?? 1)
        let sort = sortCost(total, scanChoice)
        return conjuncts.isEmpty && isCounting ? 1 : total * row + sort
    }

    private func sortCost(_ entries: Int, _ choice: AccessChoice) -> Int {
        if sorts.isEmpty || choice.isOrdered { return 0 }
        return window.limit == nil ? entries * 16 : entries
    }
}

/// The estimated selectivity of a filter, from a few leaves. A wrong estimate affects only the speed.
struct Selectivity {
    private static let leafCount = 4
    private let snapshot: StoreSnapshot
    private let tables: [EntityTable]

    init(_ snapshot: StoreSnapshot, _ tables: [EntityTable]) {
        self.snapshot = snapshot
        self.tables = tables
    }

    func estimate(_ filters: [Filter?]) throws(EngineError) -> Double {
        var rows = 0
        var passing = 0
        for table in tables {
            guard let filter = filters[Int(table.index)] else { continue }
            let view = snapshot.view(table)
            let context = FilterContext(snapshot)
            do throws(EngineError) {
                for leaf in 0 ..< Self.leafCount {
                    guard let key = try view.key(at: view.count * (2 * leaf + 1) / (2 * Self.leafCount)) else { continue }
                    try view.forEachLeaf(from: key) { (leaf) throws(EngineError) -> Bool in
                        var selection = Selection(all: leaf.count)
                        try filter.narrow(&selection, leaf, table, context)
                        rows += leaf.count
                        passing += selection.selectedCount
                        return false
                    }
                }
            } catch {
                // An error of the evaluator is not reported here: it recurs when the rows are evaluated.
                if context.failure == nil { throw error }
            }
        }
        return rows == 0 ? 1 : Double(passing) / Double(rows)
    }
}
