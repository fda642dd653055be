/// A type whose Swift key paths can be turned back into keys, so that `#Predicate` can be translated.
///
/// Structs and classes with stored properties need not conform: their key paths print their names.
public protocol PredicateSubject {
    /// The keys that a key path from this type reads, in order; none for the object itself, as `\.objectID`.
    /// - Throws: `HornbeamError` when the key path reads what is no property of the model.
    static func predicateKeys(along keyPath: AnyKeyPath) throws -> [String]
}

/// A collection whose `count` and `isEmpty` are its own, so that Foundation does not know key paths to them: of what can be
/// read of it, a number is its count, and a truth says whether it is empty.
package protocol CountedMembers {}

extension Set: CountedMembers where Element: PredicateSubject {}
extension Array: CountedMembers where Element: PredicateSubject {}
