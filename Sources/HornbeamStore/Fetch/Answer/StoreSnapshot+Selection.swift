internal import HornbeamEngine
internal import HornbeamModel

extension StoreSnapshot {
    /// The rows that match a request, by table. The calling thread has the writer's turn and will change them.
    func select(_ fetch: ValidatedFetch) throws -> [(table: EntityTable, rows: RowSelection)] {
        let plan = try FetchPlan(fetch, in: self, counting: false)
        guard case .scan = plan.choice.path, plan.window.isWhole else {
            return try select(try self.fetch(plan, excluding: []).references)
        }
        let context = FilterContext(self, threads: ScanThreads(belongToWriter: true))
        let sink = ResultSink(.select, neededCount: nil, excluding: [], context: context)
        let execution = FetchExecution(plan, self, context, sink)
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
}
