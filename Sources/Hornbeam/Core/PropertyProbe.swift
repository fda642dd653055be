internal import HornbeamModel

/// Records the properties that an accessor reads, so that `#Predicate` over managed object classes can be translated.
///
/// Swift does not provide the name of a computed property in a key path. So a translation calls the accessor on a probe object, which has no row,
/// and whose entity has no properties. The read of a token records the name here, and returns no value of a row.
final class PropertyProbe {
    private(set) var names: [String] = []

    func note(_ nameID: PropertyNameID) { names.append(nameID.name) }
}
