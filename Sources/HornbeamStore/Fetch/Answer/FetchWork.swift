package import HornbeamModel

/// What a fetch did in the store: how, and how much.
package struct FetchWork: Sendable {
    /// The plan that was carried out; nil for a look-up that needed none.
    var plan: FetchPlan?
    var lookUp: LookUp?
    /// The request, where the objects are for dictionaries, and what makes these.
    package var dictionaries: (request: FetchDescription, program: DictionaryProgram)?
    /// Rows that were looked at, matching or not, those of other entities included.
    package var rowsRead = 0
    package var leavesRead = 0

    init(plan: FetchPlan? = nil) { self.plan = plan }

    init(_ execution: FetchExecution) {
        plan = execution.plan
        rowsRead = execution.rowsRead + execution.context.rowsRead
        leavesRead = execution.leavesRead
    }

    /// Adds what the same request took in another store; the plan stays the first one's.
    package mutating func add(_ other: FetchWork) {
        if plan == nil, lookUp == nil { (plan, lookUp) = (other.plan, other.lookUp) }
        rowsRead += other.rowsRead
        leavesRead += other.leavesRead
    }

    /// How it was carried out, in words.
    package var text: Plan { text(showsValues: true) }

    /// The same without the values that the predicate compares with.
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
