package import HornbeamModel

/// Statistics of an executed fetch: its plan and the amount of work.
package struct FetchWork: Sendable {
    /// The executed plan; nil for a direct lookup.
    var plan: FetchPlan?
    var lookUp: DirectLookup?
    /// For dictionary results: the request for the objects and the program that makes the dictionaries.
    package var dictionaries: (request: FetchDescription, program: DictionaryProgram)?
    /// The number of rows read, including rows that do not match and rows of other entities.
    package var rowsRead = 0
    package var leavesRead = 0

    init(plan: FetchPlan? = nil) { self.plan = plan }

    init(_ execution: FetchExecution) {
        plan = execution.plan
        rowsRead = execution.rowsRead + execution.context.rowsRead
        leavesRead = execution.leavesRead
    }

    /// Adds the work of the same request in another store, but not the plan.
    package mutating func add(_ other: FetchWork) {
        if plan == nil, lookUp == nil { (plan, lookUp) = (other.plan, other.lookUp) }
        rowsRead += other.rowsRead
        leavesRead += other.leavesRead
    }

    /// The executed plan as text.
    package var text: Plan { text(showsValues: true) }

    /// The executed plan without the constants of the predicate.
    package var textWithoutValues: Plan { text(showsValues: false) }

    private func text(showsValues: Bool) -> Plan {
        var text = plan?.description(showsValues: showsValues) ?? lookUp?.plan ?? Plan()
        if let (request, program) = dictionaries { text.dictionaries = program.steps(of: request, showsValues: showsValues) }
        return text
    }

    func advice(in snapshot: StoreSnapshot) -> IndexAdvice? {
        guard let plan else { return nil }
        return try? IndexAdvisor(plan: plan, snapshot: snapshot).advice()
    }
}
