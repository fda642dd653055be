internal import HornbeamEngine
internal import HornbeamModel

/// Access paths that begin at the destinations of a relationship: `author.name == "x"` leads to the members of the authors with that name,
/// and `ANY publications.isbn == "x"` to the owners of the publications with that number. The planner reads the destinations. A path over
/// several relationships is planned from its end, one relationship after the other.
///
/// The conditions are planned in ascending order of their numbers of destinations. A to-many is followed from the destinations only if that costs less
/// than testing the members of the objects that the best plan so far reads.
extension AccessPlanner {
    /// The number of destinations for which such a path is always planned. For more, following them must cost less than the best other plan.
    private static let relatedMin = 256
    /// The cost of following a relationship from one destination: a range of its members is counted, and later walked.
    private static let relatedCost = 2 * singleRowCost
    /// The cost of following a to-many from a member whose row contains the owner: the row is read in a batch, once to test it and once for the owner.
    private static let mirroredCost = 2 * rowCost
    /// The maximum number of relationships in a path that the planner follows.
    private static let depthMax = 3

    /// The paths over relationships that cost less than the best other plan; all paths if that is nil.
    func relatedAlternatives(besides other: AccessChoice?, cost otherCost: Int = 0) throws(EngineError) -> [AccessChoice] {
        guard schema.findsByIndexes, depth < Self.depthMax else { return [] }
        var best = other.map { BestPlan($0, cost: otherCost) }
        var choices: [AccessChoice] = []
        var byKeys: AccessChoice?
        for condition in try relatedConditions() where best.map({ $0.cost > Double(Self.cheap) }) ?? true {
            guard var choice = try relatedChoice(condition, best) else { continue }
            if case .keys = choice.path {
                // The keys of both conditions are known, so their intersection reads nothing.
                if let byKeys { choice = intersection(byKeys, choice) }
                byKeys = choice
            } else {
                choices.append(choice)
            }
            let cost = cost(choice)
            if let known = best, Double(cost) < known.cost { best = BestPlan(choice, cost: cost) }
        }
        return byKeys.map { choices + [$0] } ?? choices
    }

    private func relatedChoice(_ condition: RelatedCondition, _ best: BestPlan?) throws(EngineError) -> AccessChoice? {
        switch condition.kind {
        case .containing(let position, let term): try containingChoice(position, term, best)
        case .toOne(let property, let parts): try toOneChoice(property, parts, best)
        case .toMany(let property, let part): try toManyChoice(property, part, condition.destinations, best)
        }
    }

    /// The objects that two lists of keys have in common.
    private func intersection(_ first: AccessChoice, _ second: AccessChoice) -> AccessChoice {
        guard case .keys(let keys, let via) = first.path, case .keys(let others, let otherVia) = second.path else { return first }
        let set = KeySet(others)
        let common = keys.filter(set.contains)
        let nodes = [via, otherVia].compactMap { $0 }.flatMap { node in if case .and(let nodes) = node { nodes } else { [node] } }
        return AccessChoice(
            .keys(common, via: .and(nodes)), used: first.used.union(second.used), entries: common.count, isOrdered: first.isOrdered)
    }

    // MARK: Over a to-one

    private func toOneChoice(_ property: PropertyDescription, _ parts: [Part], _ best: BestPlan?) throws(EngineError) -> AccessChoice? {
        guard let link = mirror(of: property.name), let destination = property.destinationEntity else { return nil }
        let sure = parts.filter { isFalseWithoutDestination($0.rest, destination) }
        guard !sure.isEmpty,
            let owners = try related(destination, sure.map(\.rest), limit: best?.cost ?? .infinity, costOfEach: Self.relatedCost, total: rowTotal)
        else { return nil }
        let nodes = sure.compactMap { terms[at: $0.position]?.node }
        return try members(
            link, owners: owners, used: Set(sure.map(\.position)), via: nodes.count == 1 ? nodes[0] : .and(nodes))
    }

    /// True when a row without a destination object cannot become a result.
    private func isFalseWithoutDestination(_ rest: Term, _ destination: EntityDescription) -> Bool {
        guard rest.names != nil else { return false }
        switch rest.modifier {
        case .direct: return rest.holds(.null) == false
        // Without a destination there is no element.
        case .any: return destination.passesToMany(rest.path)
        case .all: return false
        }
    }

    // MARK: Over a to-many

    private func toManyChoice(
        _ relationship: PropertyDescription, _ part: Part, _ destinations: Destinations, _ best: BestPlan?
    ) throws(EngineError) -> AccessChoice? {
        guard part.rest.modifier == .any, part.rest.names != nil, let destination = relationship.destinationEntity else { return nil }
        var rest = part.rest
        if destination.passesToMany(rest.path) {
            // A nil before the last to-many is an element. The plan for the members does not find it.
            guard rest.holds(.null) == false else { return nil }
        } else {
            rest.modifier = .direct
        }
        let link = schema.link(relationship)
        let total = max(rowTotal, rowCount(of: destination))
        let limit = best.map { $0.cost + testingCost(link, destination, destinations, $0.rows) } ?? .infinity
        let costOfEach = link.kind == .mirror ? Self.mirroredCost : Self.relatedCost
        guard destinations.count <= Self.relatedMin || Double(destinations.count * costOfEach) <= limit else { return nil }
        guard let members = try related(destination, [rest], limit: limit, costOfEach: costOfEach, total: total) else { return nil }
        let owners = try owners(of: members, destination, link)
        return AccessChoice(
            .keys(owners, via: terms[at: part.position]?.node), used: [part.position], entries: owners.count,
            isOrdered: returnsKeyOrder)
    }

    /// `publications CONTAINS %@` leads to the owners of that member.
    private func containingChoice(_ position: Int, _ term: Term, _ best: BestPlan?) throws(EngineError) -> AccessChoice? {
        guard let name = term.key, term.modifier == .direct, let table = tables.first,
            let relationship = entity.propertiesByName[name], relationship.isStoredToMany,
            let destination = relationship.destinationEntity,
            let members = FilterCompiler(snapshot.reader, table).objectKeys(term), !members.hasNull
        else { return nil }
        let link = schema.link(relationship)
        if let backward = try backwardReader(link) {
            var count = 0
            for member in members.keys { count += try backward.count(owner: member) }
            if let best, Double(count * Self.entryCost) > best.cost + Double(best.rows * Self.singleRowCost) { return nil }
        }
        let owners = try owners(of: members.keys.sorted(), destination, link)
        return AccessChoice(
            .keys(owners, via: term.node), used: [position], entries: owners.count, isOrdered: returnsKeyOrder)
    }

    /// Reads the owners of members; nil if the row of a member contains its owner.
    private func backwardReader(_ link: LinkIndex) throws(EngineError) -> MemberReader? {
        guard let backward = link.backward else { return nil }
        return try MemberReader(backward, schema: schema) { (id) throws(EngineError) in try snapshot.engineSnapshot.index(id) }
    }

    private func owners(
        of members: [UInt64], _ destination: EntityDescription, _ link: LinkIndex
    ) throws(EngineError) -> [UInt64] {
        var owners: Set<UInt64> = []
        if let reader = try backwardReader(link) {
            for member in members { owners.formUnion(try reader.references(owner: member).map(\.key)) }
        } else if let inverse = link.relationship.inverse {
            for table in schema.tables(of: destination, includingSubentities: true) {
                let column = table.column(inverse).column
                try snapshot.view(table).forEachRow(members) { (_, row, _) throws(EngineError) -> Bool in
                    if !row.isNull(column) { owners.insert(row.load(column, as: UInt64.self)) }
                    return true
                }
            }
        }
        return owners.sorted()
    }

    // MARK: Destinations

    /// The keys of the destinations that satisfy conditions, ascending; nil when there are many, or reading them costs too much.
    /// - Parameters:
    ///   - limit: The cost of the best other plan.
    ///   - costOfEach: The cost of following the relationship from one destination.
    ///   - total: The number of rows that the best other plan reads at most.
    private func related(
        _ destination: EntityDescription, _ terms: [Term], limit: Double, costOfEach: Int, total: Int
    ) throws(EngineError) -> [UInt64]? {
        let tables = schema.tables(of: destination, includingSubentities: true)
        let conjuncts = terms.map { PredicateAnalysis.Conjunct.term($0) }
        let planner = AccessPlanner(
            snapshot: snapshot, entity: destination, tables: tables, conjuncts: conjuncts, depth: depth + 1)
        let plan = try FetchPlan(planner)
        guard Double(plan.choice.walked * Self.rowCost) <= max(limit, Double(Self.rowCost)), plan.choice.walked * 2 <= max(total, 64) else { return nil }
        let context = FilterContext(snapshot)
        let sink = ResultSink(.collectByKey, neededCount: nil, excluding: [], context: context)
        let execution = FetchExecution(plan, snapshot, context, sink)
        do throws(EngineError) {
            try execution.run()
        } catch {
            // An error of the evaluator is not reported here: it recurs when the rows are evaluated.
            if context.failure != nil { return nil }
            throw error
        }
        let found = sink.finish().map(\.reference.key)
        return found.count <= Self.relatedMin || Double(found.count * costOfEach) <= limit ? found : nil
    }
}

extension [(position: Int, term: PredicateAnalysis.Term)] {
    subscript(at position: Int) -> PredicateAnalysis.Term? { first { $0.position == position }?.term }
}
