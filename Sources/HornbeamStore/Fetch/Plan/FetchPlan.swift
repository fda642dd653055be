internal import HornbeamEngine
internal import HornbeamModel

/// A planned fetch: its tables, access path, filters and order.
struct FetchPlan: Sendable {
    let entity: EntityDescription
    let tables: [EntityTable]
    var choice: AccessChoice
    /// All conditions.
    var conjuncts: [PredicateAnalysis.Conjunct]
    /// The filter for the remaining conditions, by entity index; nil for tables that are not read.
    var filters: [Filter?]
    /// The conditions that the access path does not satisfy.
    var residual: [PredicateAnalysis.Conjunct]
    let sorts: [SortKey]
    /// The entities whose objects are results, by index.
    let isRequested: [Bool]
    var window = FetchWindow()

    /// True when every row or entry on the access path is a result.
    var isExact: Bool { residual.isEmpty }
}

extension FetchPlan {
    /// True when the number of index entries is the number of results: no other condition remains, and no other entity has entries.
    var countsEntries: Bool {
        guard isExact else { return false }
        switch choice.path {
        case .nothing, .scan: return true
        case .keys, .intersection, .union: return false
        case .members(let link, _, _): return link.relationship.destinationEntity.map(includesAll) ?? false
        case .index(let access): return includesAll(of: access.index.entity)
        }
    }

    /// True when the fetch returns all objects of an entity's hierarchy.
    func includesAll(of other: EntityDescription) -> Bool {
        other.concreteDescendants.allSatisfy { concrete in tables.contains { $0.entity == concrete } }
    }
}
