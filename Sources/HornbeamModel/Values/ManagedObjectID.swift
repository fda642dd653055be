public import Foundation

/// The identity of a managed object: its entity, its store and a number that is never used again.
///
/// An ID is a value: it may cross threads and actors, be kept and be archived as a URI. It is temporary
/// until the object is saved for the first time. Source: PSC-11, PSC-12.
public struct ManagedObjectID: Hashable, Sendable {
    /// The entity and the store that IDs of one kind share, so that an ID takes 16 bytes.
    package final class Origin: Sendable, Hashable {
        package let entityName: String
        /// The store's identity; nil for temporary IDs.
        package let storeIdentifier: UUID?
        /// The entity's number within the store (never reused); -1 for temporary IDs.
        package let entityNumber: Int

        package init(entityName: String, storeIdentifier: UUID?, entityNumber: Int) {
            self.entityName = entityName
            self.storeIdentifier = storeIdentifier
            self.entityNumber = entityNumber
        }

        package static func == (a: Origin, b: Origin) -> Bool {
            a === b || (a.storeIdentifier == b.storeIdentifier && a.entityName == b.entityName)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(storeIdentifier)
            hasher.combine(entityName)
        }
    }

    package let origin: Origin
    /// The row's key in the store, or the number of a temporary ID.
    package let reference: UInt64

    package init(origin: Origin, reference: UInt64) {
        self.origin = origin
        self.reference = reference
    }

    /// True until the object was saved, or was given a permanent ID.
    public var isTemporaryID: Bool { origin.storeIdentifier == nil }

    /// The name of the object's entity.
    public var entityName: String { origin.entityName }

    /// The identity of the store that holds the object; nil while the ID is temporary.
    public var storeIdentifier: UUID? { origin.storeIdentifier }

    public static func == (a: Self, b: Self) -> Bool { a.reference == b.reference && a.origin == b.origin }

    public func hash(into hasher: inout Hasher) { hasher.combine(reference) }
}
