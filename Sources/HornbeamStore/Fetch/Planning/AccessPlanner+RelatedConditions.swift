internal import HornbeamEngine
internal import HornbeamModel

/// The conditions behind relationships, and the cost of testing them row by row.
extension AccessPlanner {
    /// Destinations that satisfy a condition share owners. For most owners, a test reads this many times the members that it would read if they were
    /// distributed evenly.
    private static let clustering = 8.0

    typealias Part = (position: Int, rest: Term)

    /// One or several conditions behind the same relationship of the entity.
    struct RelatedCondition {
        enum Kind {
            /// `publications CONTAINS %@`
            case containing(Int, Term)
            case toOne(PropertyDescription, [Part])
            case toMany(PropertyDescription, Part)
        }

        let kind: Kind
        let destinations: Destinations
    }

    /// The objects at the end of a path.
    struct Destinations {
        /// The number of those that satisfy the condition, counted in an index; of all without an index.
        var count: Int
        /// The number of all.
        var total: Int
        /// The mean number of objects to which the path leads from one object.
        var perObject = 1.0
    }

    /// The conditions behind relationships, in ascending order of their numbers of destinations.
    func relatedConditions() throws(EngineError) -> [RelatedCondition] {
        var conditions: [RelatedCondition] = []
        for (position, term) in terms where term.key != nil && term.comparator == .contains {
            conditions.append(RelatedCondition(kind: .containing(position, term), destinations: Destinations(count: 1, total: 1)))
        }
        for (name, parts) in termsByFirstStep() {
            guard let property = entity.propertiesByName[name], property.isToOne || property.isStoredToMany else { continue }
            var all: [Destinations] = []
            for part in parts { if let term = terms[at: part.position] { all.append(try destinations(term, from: entity)) } }
            if property.isToOne, let fewest = all.min(by: { $0.count < $1.count }) {
                conditions.append(RelatedCondition(kind: .toOne(property, parts), destinations: fewest))
            } else {
                conditions += zip(parts, all).map { RelatedCondition(kind: .toMany(property, $0), destinations: $1) }
            }
        }
        return conditions.enumerated()
            .sorted { ($0.element.destinations.count, $0.offset) < ($1.element.destinations.count, $1.offset) }.map(\.element)
    }

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

    /// The objects at the end of the path of a condition on an entity.
    private func destinations(_ term: Term, from entity: EntityDescription) throws(EngineError) -> Destinations {
        var rest = term
        guard term.path.count > 1, case .name(let name) = rest.path.removeFirst(), let property = entity.propertiesByName[name],
            let destination = property.destinationEntity
        else {
            var last = term
            last.modifier = .direct
            let planner = AccessPlanner(
                snapshot: snapshot, entity: entity, tables: schema.tables(of: entity, includingSubentities: true), conjuncts: [.term(last)],
                depth: depth + 1)
            let total = planner.rowTotal
            return Destinations(count: try planner.ownAlternatives().map(\.entries).min() ?? total, total: total)
        }
        var found = try destinations(rest, from: destination)
        if property.isStoredToMany {
            found.perObject *= Double(try snapshot.members(property).members.count) / Double(max(rowCount(of: property.entity), 1))
        }
        return found
    }

    // MARK: Costs

    /// The best plan so far, which a further path must improve.
    struct BestPlan {
        var cost: Double
        /// The number of rows that it reads.
        var rows: Int

        init(_ choice: AccessChoice, cost: Int) {
            self.cost = Double(cost)
            // A walk in index order ends before its last entry.
            rows = min(choice.entries, cost / rowCost)
        }
    }

    /// The cost of testing the members of some rows. The members of a row are read until one satisfies the condition. A test of all rows can scan all
    /// members instead.
    func testingCost(
        _ link: LinkIndex, _ destination: EntityDescription, _ destinations: Destinations, _ rows: Int
    ) -> Double {
        let untilFound = Double(destinations.total) / Double(max(destinations.count, 1)) * Self.clustering
        let lookups = Double(rows) * min(destinations.perObject, untilFound) * Double(Self.singleRowCost)
        let members = rowCount(of: destination)
        guard link.kind == .mirror, rows >= rowTotal, members <= rows * 8 else { return lookups }
        return min(lookups, Double(members * Self.entryCost))
    }

    func rowCount(of entity: EntityDescription) -> Int {
        schema.tables(of: entity, includingSubentities: true).reduce(0) { $0 + snapshot.view($1).count }
    }
}
