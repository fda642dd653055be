internal import HornbeamEngine
internal import HornbeamModel

/// Access paths that begin at the destinations of a relationship: `author.name == "x"` leads to the members of the authors with that name,
/// and `ANY publications.isbn == "x"` to the owners of the publications with that number. The planner reads the destinations. A path over
/// several relationships is planned from its end, one relationship after the other.
extension AccessPlanner {
    /// The number of destinations for which such a path is always planned. For more, following them must cost less than the best other plan.
    private static let relatedMin = 256
    /// The cost of following a relationship from one destination: a range of its members is counted, and later walked.
    private static let relatedCost = 2 * singleRowCost
    /// The maximum number of relationships in a path that the planner follows.
    private static let depthMax = 3

    func relatedAlternatives(cheaperThan limit: Int) throws(EngineError) -> [AccessChoice] {
        guard schema.findsByIndexes, depth < Self.depthMax else { return [] }
        var choices: [AccessChoice] = []
        for (position, term) in terms {
            if let choice = try containingChoice(position, term) { choices.append(choice) }
        }
        for (name, parts) in termsByFirstStep() {
            guard let property = entity.propertiesByName[name] else { continue }
            if property.isToOne {
                if let choice = try toOneChoice(name, parts, limit) { choices.append(choice) }
            } else if property.isStoredToMany {
                for part in parts {
                    if let choice = try toManyChoice(property, part, limit) { choices.append(choice) }
                }
            }
        }
        return choices
    }

    private typealias Part = (position: Int, rest: Term)

    /// The conditions on the destination of a relationship, by the name of the relationship.
    private func termsByFirstStep() -> [(String, [Part])] {
        var names: [String] = []
        var parts: [String: [Part]] = [:]
        for (position, term) in terms {
            guard term.path.count > 1, case .name(let name) = term.path[0] else { continue }
            var rest = term
            rest.path.removeFirst()
            if parts[name] == nil { names.append(name) }
            parts[name, default: []].append((position, rest))
        }
        return names.map { ($0, parts[$0] ?? []) }
    }

    // MARK: Over a to-one

    private func toOneChoice(_ name: String, _ parts: [Part], _ limit: Int) throws(EngineError) -> AccessChoice? {
        guard let link = mirror(of: name), let destination = entity.propertiesByName[name]?.destinationEntity else { return nil }
        let sure = parts.filter { isFalseWithoutDestination($0.rest, destination) }
        guard !sure.isEmpty, let owners = try related(destination, sure.map(\.rest), limit: limit, total: rowTotal) else { return nil }
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
        _ relationship: PropertyDescription, _ part: Part, _ limit: Int
    ) throws(EngineError) -> AccessChoice? {
        guard part.rest.modifier == .any, part.rest.names != nil, let destination = relationship.destinationEntity else { return nil }
        var rest = part.rest
        if destination.passesToMany(rest.path) {
            // A nil before the last to-many is an element. The plan for the members does not find it.
            guard rest.holds(.null) == false else { return nil }
        } else {
            rest.modifier = .direct
        }
        let total = max(rowTotal, rowCount(of: destination))
        guard let members = try related(destination, [rest], limit: limitWithMembers(limit, destination), total: total) else { return nil }
        let owners = try owners(of: members, destination, schema.link(relationship))
        return AccessChoice(
            .keys(owners, via: terms[at: part.position]?.node), used: [part.position], entries: owners.count,
            isOrdered: returnsKeyOrder)
    }

    /// `publications CONTAINS %@` leads to the owners of that member.
    private func containingChoice(_ position: Int, _ term: Term) throws(EngineError) -> AccessChoice? {
        guard let name = term.key, term.comparator == .contains, term.modifier == .direct, let table = tables.first,
            let relationship = entity.propertiesByName[name], relationship.isStoredToMany,
            let destination = relationship.destinationEntity,
            let members = FilterCompiler(snapshot.reader, table).objectKeys(term), !members.hasNull
        else { return nil }
        let owners = try owners(of: members.keys.sorted(), destination, schema.link(relationship))
        return AccessChoice(
            .keys(owners, via: term.node), used: [position], entries: owners.count, isOrdered: returnsKeyOrder)
    }

    private func owners(
        of members: [UInt64], _ destination: EntityDescription, _ link: LinkIndex
    ) throws(EngineError) -> [UInt64] {
        var owners: Set<UInt64> = []
        if let backward = link.backward {
            let reader = try MemberReader(backward, schema: schema) { (id) throws(EngineError) in
                try snapshot.engineSnapshot.index(id)
            }
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

    private func rowCount(of destination: EntityDescription) -> Int {
        schema.tables(of: destination, includingSubentities: true).reduce(0) { $0 + snapshot.view($1).count }
    }

    /// The cost of the best other plan, with the members that its filter reads. A plan that visits a part of the owners reads the same part of their
    /// members.
    private func limitWithMembers(_ limit: Int, _ destination: EntityDescription) -> Int {
        let visited = min(Double(limit) / Double(max(rowTotal, 1)), 1)
        let members = Int(Double(rowCount(of: destination)) * visited) * Self.rowCost
        let (sum, overflow) = limit.addingReportingOverflow(members)
        return overflow ? .max : sum
    }

    /// The keys of the destinations that satisfy conditions, ascending; nil when there are many, or reading them costs too much.
    /// - Parameters:
    ///   - limit: The cost of the best other plan.
    ///   - total: The number of rows that the best other plan reads at most.
    private func related(
        _ destination: EntityDescription, _ terms: [Term], limit: Int, total: Int
    ) throws(EngineError) -> [UInt64]? {
        let tables = schema.tables(of: destination, includingSubentities: true)
        let conjuncts = terms.map { PredicateAnalysis.Conjunct.term($0) }
        let planner = AccessPlanner(
            snapshot: snapshot, entity: destination, tables: tables, conjuncts: conjuncts, depth: depth + 1)
        let plan = try FetchPlan(planner)
        guard plan.choice.walked <= max(limit / Self.rowCost, 1), plan.choice.walked * 2 <= max(total, 64) else { return nil }
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
        return found.count <= max(Self.relatedMin, limit / Self.relatedCost) ? found : nil
    }
}

extension [(position: Int, term: PredicateAnalysis.Term)] {
    fileprivate subscript(at position: Int) -> PredicateAnalysis.Term? { first { $0.position == position }?.term }
}
