internal import HornbeamEngine
internal import HornbeamModel

// MARK: Printing

extension FetchPlan {
    var description: Plan {
        var plan = Plan()
        plan.entity = entity.name
        plan.access = accessText
        if !residual.isEmpty {
            let kind = filters.compactMap { $0?.kind }.max() ?? .columns
            plan.filter = "filter \(kind.words): \(residualText)"
        }
        plan.order = orderText
        plan.window = windowText
        return plan
    }

    private var accessText: String { text(choice, "") }

    private func text(_ choice: AccessChoice, _ indent: String) -> String {
        switch choice.path {
        case .nothing: return "nothing: no object can satisfy the predicate"
        case .scan: return "scan \(tables.map(\.entity.name).joined(separator: ", ")): \(rows(choice.entries, "row"))"
        case .keys(_, let via):
            return "look up \(rows(choice.entries, "object")) by ID" + (via.map { ", found by \($0)" } ?? "")
        case .members(let link, _, let via):
            let title = "\(link.relationship.entity.name).\(link.relationship.name)"
            return "members of \(title)\(via.map { " where \($0)" } ?? ""): \(rows(choice.entries, "entry"))"
        case .index(let access): return indexText(access, choice.entries)
        case .intersection(let parts): return setText("all of", parts, choice, indent)
        case .union(let parts): return setText("any of", parts, choice, indent)
        }
    }

    private func setText(_ words: String, _ parts: [AccessChoice], _ choice: AccessChoice, _ indent: String) -> String {
        let lines = parts.map { "\n    \(indent)\(text($0, indent + "  "))" }
        return "\(words), about \(rows(choice.entries, "object"))" + lines.joined()
    }

    private func indexText(_ access: IndexAccess, _ entries: Int) -> String {
        let kind = access.index.isUnique ? "unique index" : "index"
        if access.isWhole { return "\(kind) \(access.index.title): all \(rows(entries, "entry"))" }
        let count = access.ranges.count == 1 ? "" : ", \(access.ranges.count) ranges"
        return "\(kind) \(access.index.title)\(count): \(rows(entries, "entry"))"
    }

    private func rows(_ count: Int, _ noun: String) -> String {
        if count == 1 { return "1 \(noun)" }
        return "\(count) " + (noun == "entry" ? "entries" : noun + "s")
    }

    private var residualText: String {
        let nodes = residual.map { conjunct in
            switch conjunct {
            case .term(let term): term.node
            case .other(let node): node
            }
        }
        return FetchPredicate(node: nodes.count == 1 ? nodes[0] : .and(nodes)).description
    }

    private var orderText: String {
        if sorts.isEmpty { return "order by ID" }
        let text = sorts.map(\.text).joined(separator: ", ")
        if choice.isOrdered { return "order by \(text) from the index" }
        return kept == nil ? "sort by \(text)" : "sort by \(text), keeping the first \(kept ?? 0)"
    }

    private var windowText: String? {
        if offset == 0, limit == nil { return nil }
        let skip = offset > 0 ? "skip \(offset)" : nil
        let take = limit.map { "take \($0)" }
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
