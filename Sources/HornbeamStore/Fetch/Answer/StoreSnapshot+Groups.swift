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
        let fetch = fetch.withoutOrder
        func groups(_ plan: FetchPlan, workMax: Int) throws -> DictionaryAnswer? {
            let feed = GroupAccumulator(program, context, countsDistinct: objects.isEmpty)
            let sink = ResultSink(.feed(feed), neededCount: nil, excluding: excluding, context: context)
            let execution = FetchExecution(plan, self, context, sink, workMax: workMax)
            try context.run { () throws(EngineError) in try execution.run() }
            if execution.isStopped { return nil }
            for object in objects { feed.add(object.inputs, object: object.key) }
            return DictionaryAnswer(rows: try feed.groups.rows(), work: FetchWork(execution))
        }
        if let (plan, workMax) = try boundPlan(for: fetch), let answer = try groups(plan, workMax: workMax) { return answer }
        let plan = try FetchPlan(fetch, in: self, counting: false)
        keep(plan, of: fetch, counting: false)
        return try groups(plan, workMax: .max) ?? DictionaryAnswer(rows: [], work: FetchWork(plan: plan))
    }
}

/// The values of dictionaries by column, and the work done.
package struct DictionaryAnswer: Sendable {
    package var rows: [[PropertyValue]]
    package var work: FetchWork
}
