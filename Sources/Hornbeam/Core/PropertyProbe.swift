internal import HornbeamModel

/// Records the properties that an accessor reads, so that `#Predicate` over managed object classes can be translated.
///
/// Swift does not provide the name of a computed property in a key path. So the probe creates an object without a row and
/// with an entity without properties: reading a token records its name here and returns no value.
final class PropertyProbe {
    private(set) var names: [String] = []

    func note(_ nameID: PropertyNameID) { names.append(nameID.name) }
}
