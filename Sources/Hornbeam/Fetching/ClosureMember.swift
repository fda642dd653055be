public import HornbeamModel

/// An object that a closure reaches.
public struct ClosureMember: Hashable, Sendable {
    /// The ID of the object.
    public let objectID: ManagedObjectID
    /// The smallest number of times that the path must be followed to reach the object; 1 for the destinations of the roots.
    public let depth: Int
}
