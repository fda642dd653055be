internal import HornbeamEngine
package import HornbeamModel

extension StoreSnapshot {
    /// The objects that a request asks for, in order: by its criteria, then by key.
    ///
    /// - Parameter excluding: Keys of objects that are left out before offset and limit count, as a context does with
    ///   objects that it has changed.
    /// - Throws: `HornbeamError`: `predicateInvalid` for keys and types that do not fit the model, `predicateEvaluation` for what
    ///   has no answer.
    package func fetch(_ request: FetchDescription, excluding: Set<UInt64> = []) throws -> FetchAnswer {
        if let answer = try lookUpUnique(request, excluding: excluding) { return answer }
        let plan = try FetchPlan(request, in: self, counting: false)
        let context = FilterContext(self)
        let sink = ResultSink(plan.mode, kept: plan.kept, excluding: excluding, context: context)
        var execution = FetchExecution(plan, self, context, sink)
        let (references, hints) = try context.run { () throws(EngineError) in
            try execution.run()
            return sink.finish()
        }
        var answer = FetchAnswer()
        let window = plan.window(of: references.count)
        let isWhole = window.count == references.count
        answer.references = isWhole ? references : Array(references[window])
        answer.hints = isWhole || hints.isEmpty ? hints : Array(hints[window])
        answer.source = plan
        answer.rowsRead = execution.rowsRead + context.rowsRead
        answer.leavesRead = execution.leavesRead
        return answer
    }

    /// How many objects a request would give, its offset and limit included.
    package func count(_ request: FetchDescription, excluding: Set<UInt64> = []) throws -> Int {
        let plan = try FetchPlan(request, in: self, counting: true)
        if excluding.isEmpty, plan.countsEntries { return plan.window(of: plan.choice.entries).count }
        let context = FilterContext(self)
        let sink = ResultSink(.count, kept: nil, excluding: excluding, context: context)
        var execution = FetchExecution(plan, self, context, sink)
        try context.run { () throws(EngineError) in try execution.run() }
        return plan.window(of: sink.count).count
    }

    /// How a request would be carried out, for people.
    package func explain(_ request: FetchDescription) throws -> String {
        try FetchPlan(request, in: self, counting: false).description.description
    }
}

extension FetchPlan {
    var mode: ResultSink.Mode {
        if choice.isOrdered { return .collect }
        return sorts.isEmpty ? .collectByKey : .sort(sorts)
    }

    /// True when the number of entries is the number of results: nothing else is asked, and no other entity is among them.
    var countsEntries: Bool {
        guard isExact else { return false }
        switch choice.path {
        case .nothing, .scan: return true
        case .keys: return false
        case .members(let link, _): return covers(link.relationship.destinationEntity)
        case .index(let access): return covers(access.index.entity)
        }
    }

    /// True when the fetch takes every object of an entity's hierarchy.
    private func covers(_ other: EntityDescription?) -> Bool {
        guard let other else { return false }
        return other.concreteDescendants.allSatisfy { concrete in tables.contains { $0.entity == concrete } }
    }

    /// The places of the results among those that were found.
    func window(of count: Int) -> Range<Int> {
        let start = min(offset, count)
        return start ..< min(count, limit.map { start + $0 } ?? count)
    }
}
