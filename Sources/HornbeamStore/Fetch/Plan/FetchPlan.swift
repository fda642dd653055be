internal import HornbeamEngine
internal import HornbeamModel

/// A fetch made ready: which tables, which path, which filters, which order.
struct FetchPlan: Sendable {
    let entity: EntityDescription
    let tables: [EntityTable]
    let choice: AccessChoice
    /// What is left to be asked of rows, by entity index; nil for tables that are not read.
    let filters: [Filter?]
    let residual: [PredicateAnalysis.Conjunct]
    let sorts: [SortKey]
    var offset = 0
    /// Nil for all.
    var limit: Int?

    /// True when every row or entry reached is a result.
    var isExact: Bool { residual.isEmpty }

    /// How many results must be known before the first ones can be cut out; nil for all.
    var kept: Int? { limit.map { $0 + offset } }
}

extension FetchPlan {
    /// True when the number of entries is the number of results: nothing else is asked, and no other entity is among them.
    var countsEntries: Bool {
        guard isExact else { return false }
        switch choice.path {
        case .nothing, .scan: return true
        case .keys, .intersection, .union: return false
        case .members(let link, _, _): return link.relationship.destinationEntity.map(takesAll) ?? false
        case .index(let access): return takesAll(of: access.index.entity)
        }
    }

    /// True when the fetch takes every object of an entity's hierarchy.
    func takesAll(of other: EntityDescription) -> Bool {
        other.concreteDescendants.allSatisfy { concrete in tables.contains { $0.entity == concrete } }
    }

    /// The places of the results among those that were found.
    func window(of count: Int, leftOut: Int = 0) -> Range<Int> {
        let start = min(offset - leftOut, count)
        return start ..< min(count, limit.map { start + $0 } ?? count)
    }
}
