/// A type whose Swift key paths can be converted into keys, so that `#Predicate` can be translated.
///
/// Structs and classes with stored properties need not conform: the descriptions of their key paths contain the names.
public protocol PredicateSubject {
    /// The keys that a key path from this type reads, in order; empty for the object itself, as in `\.objectID`.
    /// - Throws: `HornbeamError` when the key path reads a member that is not a property of the model.
    static func predicateKeys(along keyPath: AnyKeyPath) throws -> [String]
}

/// A collection with its own `count` and `isEmpty`. Their key paths have no names, so the translator identifies these members by type:
/// `Int` is `count`, and `Bool` is `isEmpty`.
package protocol CountedMembers {}

extension Set: CountedMembers where Element: PredicateSubject {}
extension Array: CountedMembers where Element: PredicateSubject {}
