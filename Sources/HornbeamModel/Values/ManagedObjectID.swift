public import Foundation

/// The identity of a managed object: its entity, its store and a number that is never reused.
///
/// An ID is a `Sendable` value that can be stored as a URI. It is temporary
/// until the first save of the object (PSC-11, PSC-12).
public struct ManagedObjectID: Hashable, Sendable {
    /// The part that all IDs of one entity and store share. An ID holds a reference to it and thus takes 16 bytes.
    package final class StoreIdentity: Sendable, Hashable {
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

        package static func == (a: StoreIdentity, b: StoreIdentity) -> Bool {
            a === b || (a.storeIdentifier == b.storeIdentifier && a.entityName == b.entityName)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(storeIdentifier)
            hasher.combine(entityName)
        }
    }

    package let origin: StoreIdentity
    /// The row's key in the store, or the number of a temporary ID.
    package let reference: UInt64

    package init(origin: StoreIdentity, reference: UInt64) {
        self.origin = origin
        self.reference = reference
    }

    /// True until the object is saved, or gets a permanent ID.
    public var isTemporaryID: Bool { origin.storeIdentifier == nil }

    /// The name of the object's entity.
    public var entityName: String { origin.entityName }

    /// The identity of the object's store; nil while the ID is temporary.
    public var storeIdentifier: UUID? { origin.storeIdentifier }

    public static func == (a: Self, b: Self) -> Bool { a.reference == b.reference && a.origin == b.origin }

    public func hash(into hasher: inout Hasher) { hasher.combine(reference) }
}
