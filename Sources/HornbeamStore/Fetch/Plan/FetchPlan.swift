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
    var window = FetchWindow()

    /// True when every row or entry reached is a result.
    var isExact: Bool { residual.isEmpty }
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
}
