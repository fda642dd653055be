internal import HornbeamEngine
package import HornbeamModel

extension StoreSnapshot {
    /// The objects that match a request, in the order of its sort criteria, then by key.
    ///
    /// - Parameters:
    ///   - excluding: Keys of objects that are excluded before offset and limit apply. A context passes the objects that it has
    ///     changed.
    ///   - control: Cancels the fetch, which then throws `CancellationError`.
    /// - Throws: `HornbeamError`: `predicateEvaluation` for expressions without a value, and errors of reading.
    package func fetch(
        _ fetch: ValidatedFetch, excluding: Set<UInt64> = [], control: FetchControl? = nil
    ) throws -> FetchAnswer {
        if var answer = try fetchByKeptPlan(fetch, excluding, control) {
            try locate(&answer.rows, of: fetch, excluding)
            return answer
        }
        var answer = try fetchByNewPlan(fetch, excluding, control)
        try locate(&answer.rows, of: fetch, excluding)
        return answer
    }

    /// Locates the rows of a short result. The context itself locates those of a plain list when it makes their objects, unless it inserts changed
    /// objects between them.
    private func locate(_ rows: inout ResultSet, of fetch: ValidatedFetch, _ excluding: Set<UInt64>) throws {
        guard !rows.isPlainList || !excluding.isEmpty, fetch.request.resultType == .objects, fetch.request.includesPropertyValues else { return }
        try rows.locate(in: self)
    }

    private func fetchByNewPlan(_ fetch: ValidatedFetch, _ excluding: Set<UInt64>, _ control: FetchControl?) throws -> FetchAnswer {
        let plan = try FetchPlan(fetch, in: self, counting: false)
        keep(plan, of: fetch, counting: false)
        return try self.fetch(plan, excluding: excluding, in: FilterContext(self, control: control))
    }

    func fetch(_ plan: FetchPlan, excluding: Set<UInt64>, in context: FilterContext? = nil) throws -> FetchAnswer {
        try execute(plan, excluding, context ?? FilterContext(self)) ?? FetchAnswer()
    }

    /// Nil if the execution would read more than `workMax` entries or rows.
    func execute(
        _ plan: FetchPlan, _ excluding: Set<UInt64>, _ context: FilterContext, workMax: Int = .max
    ) throws -> FetchAnswer? {
        let sink = ResultSink(plan.mode, neededCount: plan.window.end, excluding: excluding, context: context)
        let execution = FetchExecution(plan, self, context, sink, workMax: workMax)
        var rows = try context.run { () throws(EngineError) in
            try execution.run()
            return sink.finish()
        }
        if execution.isStopped { return nil }
        rows.keep(plan.window.range(of: rows.count, skippedCount: sink.skippedCount))
        return FetchAnswer(rows: rows, work: FetchWork(execution))
    }

    /// The number of objects that a fetch of the request returns, with its offset and limit.
    package func count(_ fetch: ValidatedFetch, excluding: Set<UInt64> = []) throws -> Int {
        try countAnswer(fetch, excluding: excluding).count
    }

    /// Like `count`, with statistics of the execution.
    package func countAnswer(_ fetch: ValidatedFetch, excluding: Set<UInt64> = []) throws -> CountAnswer {
        if let answer = try countByKeptPlan(fetch, excluding) { return answer }
        let plan = try FetchPlan(fetch, in: self, counting: true)
        keep(plan, of: fetch, counting: true)
        return try count(plan, excluding: excluding)
    }

    func count(_ plan: FetchPlan, excluding: Set<UInt64>, in context: FilterContext? = nil) throws -> CountAnswer {
        try executeCount(plan, excluding, context) ?? CountAnswer(count: 0)
    }

    /// Nil if the execution would read more than `workMax` entries.
    func executeCount(
        _ plan: FetchPlan, _ excluding: Set<UInt64>, _ context: FilterContext? = nil, workMax: Int = .max
    ) throws -> CountAnswer? {
        if excluding.isEmpty, plan.countsEntries {
            return CountAnswer(count: plan.window.count(of: plan.choice.entries), work: FetchWork(plan: plan))
        }
        let context = context ?? FilterContext(self)
        let sink = ResultSink(.count, neededCount: nil, excluding: excluding, context: context)
        let execution = FetchExecution(plan, self, context, sink, workMax: workMax)
        try context.run { () throws(EngineError) in try execution.run() }
        if execution.isStopped { return nil }
        return CountAnswer(count: plan.window.count(of: sink.count), work: FetchWork(execution))
    }

    /// Describes the plan of a request as text, and an index that would make it faster.
    package func explain(_ fetch: ValidatedFetch) throws -> String {
        var objects = fetch
        var dictionaries: (FetchDescription, DictionaryProgram)?
        if fetch.request.resultType == .dictionaries {
            let program = try fetch.dictionaryProgram()
            dictionaries = (fetch.request, program)
            objects = fetch.objects(for: program)
        }
        var work = FetchWork(plan: try FetchPlan(objects, in: self, counting: false))
        work.dictionaries = dictionaries
        let advice = work.advice(in: self).map { "\n  advice: \($0)" }
        return work.text.description + (advice ?? "")
    }
}
