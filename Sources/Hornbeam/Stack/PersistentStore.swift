public import Foundation

/// A store of a coordinator, as a value: where it is and what it is for (PSC-10).
public struct PersistentStore: Hashable, Sendable, CustomStringConvertible {
    /// In the IDs of the store's objects. Copies of a store share it (PSC-9).
    public let identifier: UUID
    /// The store's directory; for a store in memory its name.
    public let url: URL
    /// Whether the store is on disk, in memory, or a custom store.
    public let type: PersistentStoreDescription.StoreType
    /// The configuration whose entities go into the store; nil for all (PSC-1).
    public let configurationName: String?
    /// True if the store was opened for reading only; saves to it throw `readOnly`.
    public let isReadOnly: Bool

    public var description: String { "PersistentStore(\(url.lastPathComponent), \(identifier))" }
}
