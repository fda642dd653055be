internal import HornbeamEngine
package import HornbeamModel

extension StoreSnapshot {
    /// The objects that a request asks for, in order: by its criteria, then by key.
    ///
    /// - Parameters:
    ///   - excluding: Keys of objects that are left out before offset and limit count, as a context does with
    ///     objects that it has changed.
    ///   - control: Lets others end the fetch, which then throws `CancellationError`.
    /// - Throws: `HornbeamError`: `predicateInvalid` for keys and types that do not fit the model, `predicateEvaluation` for what
    ///   has no answer.
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
        let sink = ResultSink(plan.mode, kept: plan.window.end, excluding: excluding, context: context)
        var execution = FetchExecution(plan, self, context, sink)
        var rows = try context.run { () throws(EngineError) in
            try execution.run()
            return sink.finish()
        }
        rows.keep(plan.window.range(of: rows.count, leftOut: sink.leftOut))
        return FetchAnswer(rows: rows, work: FetchWork(execution))
    }

    /// How many objects a request would give, its offset and limit included.
    package func count(_ request: FetchDescription, excluding: Set<UInt64> = []) throws -> Int {
        try countAnswer(request, excluding: excluding).count
    }

    /// The same, with what it took.
    package func countAnswer(_ request: FetchDescription, excluding: Set<UInt64> = []) throws -> CountAnswer {
        try count(FetchPlan(request, in: self, counting: true), excluding: excluding)
    }

    func count(_ plan: FetchPlan, excluding: Set<UInt64>, in context: FilterContext? = nil) throws -> CountAnswer {
        if excluding.isEmpty, plan.countsEntries {
            return CountAnswer(count: plan.window.count(of: plan.choice.entries), work: FetchWork(plan: plan))
        }
        let context = context ?? FilterContext(self)
        let sink = ResultSink(.count, kept: nil, excluding: excluding, context: context)
        var execution = FetchExecution(plan, self, context, sink)
        try context.run { () throws(EngineError) in try execution.run() }
        return CountAnswer(count: plan.window.count(of: sink.count), work: FetchWork(execution))
    }

    /// How a request would be carried out, for people, and the index that would help it.
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
