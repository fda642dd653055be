internal import HornbeamEngine
internal import HornbeamModel

extension FetchPlan {
    var description: Plan { description(showsValues: true) }

    /// - Parameter showsValues: False omits the constants of the predicate, for logs.
    func description(showsValues: Bool) -> Plan { PlanText(plan: self, showsValues: showsValues).text }
}

/// Formats a plan as text.
private struct PlanText {
    let plan: FetchPlan
    let showsValues: Bool

    var text: Plan {
        var text = Plan()
        text.entity = plan.entity.name
        text.access = access(plan.choice, "")
        if !plan.residual.isEmpty {
            let kind = plan.filters.compactMap { $0?.kind }.max() ?? .columns
            text.filter = "filter \(isMixed ? "columns, then row by row" : kind.words): \(residual)"
            if isMixed { text.filter? += "\n  only the evaluator can test \(evaluated.map(words).joined(separator: ", "))" }
        }
        text.order = order
        text.window = window
        return text
    }

    /// The parts that only the evaluator can test, over all tables.
    private var evaluated: [FetchPredicate.Node] {
        var nodes: [FetchPredicate.Node] = []
        for node in plan.filters.compactMap({ $0?.evaluated }).joined() where !nodes.contains(node) { nodes.append(node) }
        return nodes
    }

    /// True when some parts need the evaluator and others do not.
    private var isMixed: Bool {
        plan.filters.contains { filter in
            if case .general? = filter { false } else { filter?.kind == .evaluator }
        }
    }

    private func words(_ node: FetchPredicate.Node) -> String {
        let predicate = FetchPredicate(node: node)
        return (showsValues ? predicate : predicate.withoutValues).description
    }

    // MARK: Access

    private func access(_ choice: AccessChoice, _ indent: String) -> String {
        switch choice.path {
        case .nothing: return "nothing: no object can satisfy the predicate"
        case .scan: return "scan \(plan.tables.map(\.entity.name).joined(separator: ", ")): \(count(choice.entries, "row"))"
        case .keys(_, let via):
            return "look up \(count(choice.entries, "object")) by ID" + (via.map { ", found by \(words($0))" } ?? "")
        case .members(let link, _, let via):
            let title = "\(link.relationship.entity.name).\(link.relationship.name)"
            return "members of \(title)\(via.map { " where \(words($0))" } ?? ""): \(count(choice.entries, "entry"))"
        case .index(let access): return index(access, choice.entries)
        case .intersection(let parts): return set("all of", parts, choice, indent)
        case .union(let parts): return set("any of", parts, choice, indent)
        }
    }

    private func set(_ title: String, _ parts: [AccessChoice], _ choice: AccessChoice, _ indent: String) -> String {
        let lines = parts.map { "\n    \(indent)\(access($0, indent + "  "))" }
        return "\(title), about \(count(choice.entries, "object"))" + lines.joined()
    }

    private func index(_ access: IndexAccess, _ entries: Int) -> String {
        let kind = access.index.isUnique ? "unique index" : "index"
        if access.isWhole { return "\(kind) \(access.index.title): all \(count(entries, "entry"))" }
        let ranges = access.ranges.count == 1 ? "" : ", \(access.ranges.count) ranges"
        return "\(kind) \(access.index.title)\(ranges): \(count(entries, "entry"))"
    }

    private func count(_ number: Int, _ noun: String) -> String {
        if number == 1 { return "1 \(noun)" }
        return "\(number) " + (noun == "entry" ? "entries" : noun + "s")
    }

    // MARK: Filter, order and window

    private var residual: String {
        let nodes = plan.residual.map { conjunct in
            switch conjunct {
            case .term(let term): term.node
            case .other(let node): node
            }
        }
        return words(nodes.count == 1 ? nodes[0] : .and(nodes))
    }

    private var order: String {
        if plan.sorts.isEmpty { return "order by ID" }
        let text = plan.sorts.map(\.text).joined(separator: ", ")
        if plan.choice.isOrdered { return "order by \(text) from the index" }
        return plan.window.end.map { "sort by \(text), keeping the first \($0)" } ?? "sort by \(text)"
    }

    private var window: String? {
        if plan.window.isWhole { return nil }
        let skip = plan.window.offset > 0 ? "skip \(plan.window.offset)" : nil
        let take = plan.window.limit.map { "take \($0)" }
        return [skip, take].compactMap { $0 }.joined(separator: ", ")
    }
}

extension SortKey {
    fileprivate var text: String {
        path.map(\.name).joined(separator: ".") + collation.suffix + (isAscending ? "" : " descending")
    }
}

extension Filter.Kind {
    fileprivate var words: String {
        switch self {
        case .columns: "columns"
        case .texts: "columns, then texts"
        case .relationships: "columns, then related objects"
        case .evaluator: "row by row"
        }
    }
}

extension Filter {
    /// The parts that need the evaluator.
    fileprivate var evaluated: [FetchPredicate.Node] {
        switch self {
        case .general(let test): [test.predicate.node]
        case .and(let filters), .or(let filters): filters.flatMap(\.evaluated)
        case .not(let filter): filter.evaluated
        default: []
        }
    }
}
