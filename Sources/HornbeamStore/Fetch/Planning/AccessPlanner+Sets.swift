internal import HornbeamEngine
internal import HornbeamModel

/// Access paths over several indexes: intersections and unions.
extension AccessPlanner {
    /// The largest number of parts of a union.
    private static let unionMax = 64

    func setAlternatives(_ singles: [AccessChoice]) throws(EngineError) -> [AccessChoice] {
        var choices: [AccessChoice] = []
        for (position, conjunct) in conjuncts.enumerated() {
            guard case .other(.or(let nodes)) = conjunct, nodes.count <= Self.unionMax else { continue }
            if let choice = try unionChoice(position, nodes) { choices.append(choice) }
        }
        if let choice = intersectionChoice(singles + choices) { choices.append(choice) }
        return choices
    }

    /// Nil when one of the parts needs a scan.
    private func unionChoice(_ position: Int, _ nodes: [FetchPredicate.Node]) throws(EngineError) -> AccessChoice? {
        var parts: [AccessChoice] = []
        var isExact = true
        for node in nodes {
            let branch = PredicateAnalysis(node)
            if branch.isAlwaysFalse { continue }
            let planner = AccessPlanner(
                snapshot: snapshot, entity: entity, tables: tables, conjuncts: branch.conjuncts, depth: depth + 1)
            guard let part = try planner.cheapestAlternative() else { return nil }
            isExact = isExact && part.used.count == branch.conjuncts.count
            parts.append(part)
        }
        return AccessChoice(
            .union(parts), used: isExact ? [position] : [], entries: min(rowTotal, parts.reduce(0) { $0 + $1.entries }),
            walked: parts.reduce(0) { $0 + $1.walked } * 2)
    }

    /// Combines the most selective paths over different conditions. A further path must at least halve the number of rows read, else its walk costs
    /// more than it saves.
    private func intersectionChoice(_ singles: [AccessChoice]) -> AccessChoice? {
        let total = max(rowTotal, 1)
        var parts: [AccessChoice] = []
        var used: Set<Int> = []
        var expected = Double(total)
        for choice in singles.sorted(by: { $0.entries < $1.entries })
        where !choice.used.isEmpty && used.isDisjoint(with: choice.used) && choice.entries * 2 < total {
            let share = Double(choice.entries) / Double(total)
            let saved = expected * (1 - share) * Double(Self.rowCost)
            guard parts.isEmpty || saved > Double(choice.walked * Self.entryCost) else { continue }
            var part = choice
            part.isOrdered = false
            if case .index(var access) = part.path {
                access.order = nil
                part.path = .index(access)
            }
            parts.append(part)
            used.formUnion(part.used)
            expected *= share
        }
        guard parts.count > 1 else { return nil }
        return AccessChoice(
            .intersection(parts), used: used, entries: Int(expected.rounded(.up)),
            walked: parts.reduce(0) { $0 + $1.walked })
    }
}
