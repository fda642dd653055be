package import HornbeamModel

/// Statistics of an executed fetch: its plan and the amount of work.
package struct FetchWork: Sendable {
    /// The executed plan, or the direct lookup. Plans are indirect, because the work is copied with each answer and few callers read the plan.
    private enum Executed {
        case nothing
        indirect case plan(FetchPlan)
        indirect case kept(KeptPlan, FetchDescription, StoreSnapshot, entries: Int)
        case lookUp(DirectLookup)
    }

    /// The request for the objects and the program that makes the dictionaries.
    private indirect enum Dictionaries {
        case made(FetchDescription, DictionaryProgram)
    }

    private var executed = Executed.nothing
    private var madeDictionaries: Dictionaries?
    /// The number of rows read, including rows that do not match and rows of other entities.
    package var rowsRead = 0
    package var leavesRead = 0

    init(plan: FetchPlan? = nil) {
        if let plan { executed = .plan(plan) }
    }

    init(_ lookUp: DirectLookup) { executed = .lookUp(lookUp) }

    /// The work of a kept plan that was executed without a plan of its own. Few callers read the plan, which is bound for them.
    init(_ kept: KeptPlan, for request: FetchDescription, in snapshot: StoreSnapshot, entries: Int, rowsRead: Int) {
        executed = .kept(kept, request, snapshot, entries: entries)
        self.rowsRead = rowsRead
    }

    init(_ execution: FetchExecution) {
        executed = .plan(execution.plan)
        rowsRead = execution.rowsRead + execution.context.rowsRead
        leavesRead = execution.leavesRead
    }

    /// The executed plan; nil for a direct lookup.
    var plan: FetchPlan? {
        switch executed {
        case .plan(let plan): return plan
        case .kept(let kept, let request, let snapshot, let entries):
            var plan = try? kept.bound(to: request, in: snapshot)
            plan?.choice.entries = entries
            return plan
        case .nothing, .lookUp: return nil
        }
    }

    /// For dictionary results: the request for the objects and the program that makes the dictionaries.
    package var dictionaries: (request: FetchDescription, program: DictionaryProgram)? {
        get { if case .made(let request, let program)? = madeDictionaries { (request, program) } else { nil } }
        set { madeDictionaries = newValue.map { .made($0.request, $0.program) } }
    }

    /// Adds the work of the same request in another store, but not the plan.
    package mutating func add(_ other: FetchWork) {
        if case .nothing = executed { executed = other.executed }
        rowsRead += other.rowsRead
        leavesRead += other.leavesRead
    }

    /// The executed plan as text.
    package var text: Plan { text(showsValues: true) }

    /// The executed plan without the constants of the predicate.
    package var textWithoutValues: Plan { text(showsValues: false) }

    private func text(showsValues: Bool) -> Plan {
        var text: Plan
        switch executed {
        case .nothing: text = Plan()
        case .plan, .kept: text = plan?.description(showsValues: showsValues) ?? Plan()
        case .lookUp(let lookUp): text = lookUp.plan
        }
        if let (request, program) = dictionaries { text.dictionaries = program.steps(of: request, showsValues: showsValues) }
        return text
    }

    func advice(in snapshot: StoreSnapshot) -> IndexAdvice? {
        guard let plan else { return nil }
        return try? IndexAdvisor(plan: plan, snapshot: snapshot).advice()
    }
}
