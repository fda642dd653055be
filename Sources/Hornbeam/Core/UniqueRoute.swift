internal import HornbeamModel
internal import HornbeamStore

/// The data for lookups of a class's objects by one attribute, computed once for several lookups.
final class UniqueRoute {
    private let type: ManagedObject.Type
    private let nameID: PropertyNameID
    let scope: EntityScope
    let property: PropertyDescription
    /// The set with the attribute's index, for the search in pending changes.
    let reads: PropertySet
    /// Nil if the attribute does not support lookups in the store.
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
