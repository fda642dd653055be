internal import HornbeamEngine
package import HornbeamModel

extension StoreSnapshot {
    /// The objects that match a request, in the order of its sort criteria, then by key.
    ///
    /// - Parameters:
    ///   - excluding: Keys of objects that are left out before offset and limit apply. A context passes the objects that it has
    ///     changed.
    ///   - control: Cancels the fetch, which then throws `CancellationError`.
    /// - Throws: `HornbeamError`: `predicateInvalid` for keys and types that do not fit the model, `predicateEvaluation` for
    ///   expressions without a value.
    package func fetch(
        _ request: FetchDescription, excluding: Set<UInt64> = [], control: FetchControl? = nil
    ) throws -> FetchAnswer {
        if let answer = try lookUp(request, excluding: excluding) { return answer }
        let context = FilterContext(self)
        context.control = control
        return try fetch(FetchPlan(request, in: self, counting: false), excluding: excluding, in: context)
    }

    func fetch(_ plan: FetchPlan, excluding: Set<UInt64>, in context: FilterContext? = nil) throws -> FetchAnswer {
        let context = context ?? FilterContext(self)
        let sink = ResultSink(plan.mode, kept: plan.kept, excluding: excluding, context: context)
        var execution = FetchExecution(plan, self, context, sink)
        var rows = try context.run { () throws(EngineError) in
            try execution.run()
            return sink.finish()
        }
        rows.keep(plan.window(of: rows.count, leftOut: sink.leftOut))
        return FetchAnswer(rows: rows, work: FetchWork(execution))
    }

    /// The number of objects that a fetch of the request returns, with its offset and limit.
    package func count(_ request: FetchDescription, excluding: Set<UInt64> = []) throws -> Int {
        try countAnswer(request, excluding: excluding).count
    }

    /// As `count`, with statistics of the execution.
    package func countAnswer(_ request: FetchDescription, excluding: Set<UInt64> = []) throws -> CountAnswer {
        try count(FetchPlan(request, in: self, counting: true), excluding: excluding)
    }

    func count(_ plan: FetchPlan, excluding: Set<UInt64>, in context: FilterContext? = nil) throws -> CountAnswer {
        if excluding.isEmpty, plan.countsEntries {
            return CountAnswer(count: plan.window(of: plan.choice.entries).count, work: FetchWork(plan: plan))
        }
        let context = context ?? FilterContext(self)
        let sink = ResultSink(.count, kept: nil, excluding: excluding, context: context)
        var execution = FetchExecution(plan, self, context, sink)
        try context.run { () throws(EngineError) in try execution.run() }
        return CountAnswer(count: plan.window(of: sink.count).count, work: FetchWork(execution))
    }

    /// The rows that match a request, per table, for a change of all of them by the thread that has the writer's turn.
    func select(_ request: FetchDescription) throws -> [(table: EntityTable, rows: RowSelection)] {
        let plan = try FetchPlan(request, in: self, counting: false)
        guard case .scan = plan.choice.path, plan.limit == nil, plan.offset == 0 else {
            return try select(try fetch(plan, excluding: []).references)
        }
        let context = FilterContext(self, threads: ScanThreads(belongToWriter: true))
        let sink = ResultSink(.select, kept: nil, excluding: [], context: context)
        var execution = FetchExecution(plan, self, context, sink)
        try context.run { () throws(EngineError) in try execution.run() }
        return plan.tables.compactMap { table in sink.selected[table.index].map { (table, $0) } }
    }

    private func select(_ found: [ObjectReference]) throws -> [(table: EntityTable, rows: RowSelection)] {
        var keys: [Int32: [UInt64]] = [:]
        for object in found { keys[object.entityIndex, default: []].append(object.key) }
        return try EngineError.translated { () throws(EngineError) in
            var selected: [(table: EntityTable, rows: RowSelection)] = []
            for (index, keys) in keys.sorted(by: { $0.key < $1.key }) {
                let table = schema.table(at: index)
                selected.append((table, try view(table).selection(of: keys.sorted())))
            }
            return selected
        }
    }

    /// Describes the plan of a request as text, and an index that would make it faster.
    package func explain(_ request: FetchDescription) throws -> String {
        var objects = request
        var dictionaries: (FetchDescription, DictionaryProgram)?
        if request.resultType == .dictionaries {
            let program = try DictionaryProgram(request, for: schema.model.entity(named: request.entityName))
            dictionaries = (request, program)
            objects = program.objects(of: request)
        }
        var work = FetchWork(plan: try FetchPlan(objects, in: self, counting: false))
        work.dictionaries = dictionaries
        let advice = work.advice(in: self).map { "\n  advice: \($0)" }
        return work.text.description + (advice ?? "")
    }
}

extension FetchPlan {
    var mode: ResultSink.Mode {
        if choice.isOrdered { return .collect }
        return sorts.isEmpty ? .collectByKey : .sort(sorts)
    }

    /// True when the number of index entries is the number of results: no other condition remains, and no other entity has entries.
    var countsEntries: Bool {
        guard isExact else { return false }
        switch choice.path {
        case .nothing, .scan: return true
        case .keys, .intersection, .union: return false
        case .members(let link, _, _): return link.relationship.destinationEntity.map(takesAll) ?? false
        case .index(let access): return takesAll(of: access.index.entity)
        }
    }

    /// True when the fetch returns all objects of an entity's hierarchy.
    func takesAll(of other: EntityDescription) -> Bool {
        other.concreteDescendants.allSatisfy { concrete in tables.contains { $0.entity == concrete } }
    }

    /// The range of the results that offset and limit select.
    func window(of count: Int, leftOut: Int = 0) -> Range<Int> {
        let start = min(offset - leftOut, count)
        return start ..< min(count, limit.map { start + $0 } ?? count)
    }
}
