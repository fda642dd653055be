internal import HornbeamModel
internal import HornbeamStore

/// The data for lookups of a class's objects by an attribute, computed once.
final class UniqueRoute {
    private let type: ManagedObject.Type
    private let nameID: PropertyNameID
    let scope: EntityScope
    let property: PropertyDescription
    /// The attribute's index, to search pending changes.
    let reads: PropertySet
    /// Nil when the attribute does not support this lookup.
    let lookUp: UniqueLookup?

    init(
        type: ManagedObject.Type, nameID: PropertyNameID, scope: EntityScope, property: PropertyDescription, lookUp: UniqueLookup?
    ) {
        self.type = type
        self.nameID = nameID
        self.scope = scope
        self.property = property
        self.lookUp = lookUp
        var reads = PropertySet()
        reads.insert(property.index)
        self.reads = reads
    }

    @inline(__always)
    func isFor(_ type: ManagedObject.Type, _ nameID: PropertyNameID) -> Bool { self.type == type && self.nameID == nameID }
}
