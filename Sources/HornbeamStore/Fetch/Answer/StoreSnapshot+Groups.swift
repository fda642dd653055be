internal import HornbeamEngine
package import HornbeamModel

extension StoreSnapshot {
    /// The dictionaries of a fetch with groups or totals.
    ///
    /// - Parameters:
    ///   - excluding: Keys of objects that are excluded.
    ///   - objects: Objects to add, with their inputs.
    package func groups(
        _ fetch: ValidatedFetch, _ program: DictionaryProgram, excluding: Set<UInt64>,
        adding objects: [GroupedObject]
    ) throws -> DictionaryAnswer {
        try groups(fetch, program, excluding: excluding, adding: objects, in: FilterContext(self))
    }

    func groups(
        _ fetch: ValidatedFetch, _ program: DictionaryProgram, excluding: Set<UInt64> = [],
        adding objects: [GroupedObject] = [], in context: FilterContext
    ) throws -> DictionaryAnswer {
        let grouped = fetch.withoutOrder
        /// Nil if the execution would read more than `workMax` entries.
        func execute(_ plan: FetchPlan, workMax: Int) throws -> DictionaryAnswer? {
            let feed = GroupAccumulator(program, context, countsDistinct: objects.isEmpty)
            let sink = ResultSink(.feed(feed), neededCount: nil, excluding: excluding, context: context)
            let execution = FetchExecution(plan, self, context, sink, workMax: workMax)
            try context.run { () throws(EngineError) in try execution.run() }
            if execution.isStopped { return nil }
            for object in objects { feed.add(object.inputs, object: object.key) }
            return DictionaryAnswer(rows: try feed.groups.rows(), work: FetchWork(execution))
        }
        if let (plan, workMax) = try boundPlan(for: grouped), let answer = try execute(plan, workMax: workMax) { return answer }
        let plan = try FetchPlan(grouped, in: self, counting: false)
        keep(plan, of: grouped, counting: false)
        guard let answer = try execute(plan, workMax: .max) else { preconditionFailure("Only an execution with a limit stops at it.") }
        return answer
    }
}

/// The values of dictionaries by column, and the work done.
package struct DictionaryAnswer: Sendable {
    package var rows: [[PropertyValue]]
    package var work: FetchWork
}
