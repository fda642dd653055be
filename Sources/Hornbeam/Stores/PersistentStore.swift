public import Foundation

/// A store of a coordinator, as a value: its identity, URL and options (PSC-10).
public struct PersistentStore: Hashable, Sendable, CustomStringConvertible {
    /// The identity in the IDs of the store's objects. Copies of a store share it (PSC-9).
    public let identifier: UUID
    /// The store's directory; for a store in memory its name.
    public let url: URL
    /// On disk, in memory, or custom.
    public let type: PersistentStoreDescription.StoreType
    /// The configuration with the store's entities; nil for all entities (PSC-1).
    public let configurationName: String?
    /// True if the store was opened for reading only; saves to it throw `readOnly`.
    public let isReadOnly: Bool

    public var description: String { "PersistentStore(\(url.lastPathComponent), \(identifier))" }
}
