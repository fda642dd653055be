internal import HornbeamEngine
package import HornbeamModel

extension StoreSnapshot {
    /// The first objects of a fetch in the order of a computed value, then of their IDs, without the offset. The order and the window of the fetch itself
    /// are ignored.
    ///
    /// - Returns: Nil if the value is not a whole number that is computed without the evaluator.
    package func first(
        _ count: Int, of fetch: ValidatedFetch, by node: FetchExpression.Node, isAscending: Bool
    ) throws -> FetchAnswer? {
        let plan = try FetchPlan(fetch.withoutOrder, in: self, counting: false)
        let context = FilterContext(self)
        let feed = TopRows(node, isAscending: isAscending, neededCount: count, context)
        guard plan.tables.allSatisfy(feed.supports) else { return nil }
        let sink = ResultSink(.feed(feed), neededCount: nil, excluding: [], context: context)
        let execution = FetchExecution(plan, self, context, sink)
        try context.run { () throws(EngineError) in try execution.run() }
        return FetchAnswer(rows: ResultSet(feed.references), work: FetchWork(execution))
    }
}
