public import Foundation

/// Describes a store that is open in a coordinator: identifier, URL and options. A value, not the store itself (PSC-10).
public struct PersistentStore: Hashable, Sendable, CustomStringConvertible {
    /// The store's identifier, which every ID of its objects contains. A copy of the store has the same one (PSC-9).
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
