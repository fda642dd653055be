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
        if let answer = try lookUp(fetch, excluding: excluding) { return answer }
        let context = FilterContext(self)
        context.control = control
        return try self.fetch(FetchPlan(fetch, in: self, counting: false), excluding: excluding, in: context)
    }

    func fetch(_ plan: FetchPlan, excluding: Set<UInt64>, in context: FilterContext? = nil) throws -> FetchAnswer {
        let context = context ?? FilterContext(self)
        let sink = ResultSink(plan.mode, neededCount: plan.window.end, excluding: excluding, context: context)
        var execution = FetchExecution(plan, self, context, sink)
        var rows = try context.run { () throws(EngineError) in
            try execution.run()
            return sink.finish()
        }
        rows.keep(plan.window.range(of: rows.count, skippedCount: sink.skippedCount))
        return FetchAnswer(rows: rows, work: FetchWork(execution))
    }

    /// The number of objects that a fetch of the request returns, with its offset and limit.
    package func count(_ fetch: ValidatedFetch, excluding: Set<UInt64> = []) throws -> Int {
        try countAnswer(fetch, excluding: excluding).count
    }

    /// Like `count`, with statistics of the execution.
    package func countAnswer(_ fetch: ValidatedFetch, excluding: Set<UInt64> = []) throws -> CountAnswer {
        try count(FetchPlan(fetch, in: self, counting: true), excluding: excluding)
    }

    func count(_ plan: FetchPlan, excluding: Set<UInt64>, in context: FilterContext? = nil) throws -> CountAnswer {
        if excluding.isEmpty, plan.countsEntries {
            return CountAnswer(count: plan.window.count(of: plan.choice.entries), work: FetchWork(plan: plan))
        }
        let context = context ?? FilterContext(self)
        let sink = ResultSink(.count, neededCount: nil, excluding: excluding, context: context)
        var execution = FetchExecution(plan, self, context, sink)
        try context.run { () throws(EngineError) in try execution.run() }
        return CountAnswer(count: plan.window.count(of: sink.count), work: FetchWork(execution))
    }

    /// Describes the plan of a request as text, and an index that would make it faster.
    package func explain(_ fetch: ValidatedFetch) throws -> String {
        var objects = fetch
        var dictionaries: (FetchDescription, DictionaryProgram)?
        if fetch.request.resultType == .dictionaries {
            let program = try DictionaryProgram(fetch.request, for: fetch.entity)
            dictionaries = (fetch.request, program)
            objects = fetch.objects(for: program)
        }
        var work = FetchWork(plan: try FetchPlan(objects, in: self, counting: false))
        work.dictionaries = dictionaries
        let advice = work.advice(in: self).map { "\n  advice: \($0)" }
        return work.text.description + (advice ?? "")
    }
}
