/// Why the values of an object became others without anybody setting them. Raw values are Core Data's (OBJ-3).
public struct SnapshotEvents: OptionSet, Hashable, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// An insertion was undone or done again.
    public static let undoInsertion = SnapshotEvents(rawValue: 2)
    /// A deletion was undone or done again.
    public static let undoDeletion = SnapshotEvents(rawValue: 4)
    /// A change of a property was undone or done again.
    public static let undoUpdate = SnapshotEvents(rawValue: 8)
    /// The context was rolled back.
    public static let rollback = SnapshotEvents(rawValue: 16)
    /// The object was refreshed, and its changes put on top of new values.
    public static let refresh = SnapshotEvents(rawValue: 32)
    /// A save met others' changes, and the merge policy chose values.
    public static let mergePolicy = SnapshotEvents(rawValue: 64)
}
