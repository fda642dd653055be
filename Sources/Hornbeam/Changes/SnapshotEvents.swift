/// The reason for a change of an object's values that no setter made. Raw values are Core Data's (OBJ-3).
public struct SnapshotEvents: OptionSet, Hashable, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// An insertion was undone or redone.
    public static let undoInsertion = SnapshotEvents(rawValue: 2)
    /// A deletion was undone or redone.
    public static let undoDeletion = SnapshotEvents(rawValue: 4)
    /// A change of a property was undone or redone.
    public static let undoUpdate = SnapshotEvents(rawValue: 8)
    /// The context was rolled back.
    public static let rollback = SnapshotEvents(rawValue: 16)
    /// The object was refreshed, and its changes applied to the new values.
    public static let refresh = SnapshotEvents(rawValue: 32)
    /// A save had conflicts, and the merge policy changed values.
    public static let mergePolicy = SnapshotEvents(rawValue: 64)
}
