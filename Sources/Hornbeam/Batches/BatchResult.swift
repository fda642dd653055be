public import HornbeamModel

/// The kind of result of a batch request (BAT-1 … BAT-3). Raw values are Core Data's.
public enum BatchResultType: Int, Hashable, Sendable, Codable {
    /// No count and no IDs: the result states only that the request was executed.
    case status = 0
    /// The IDs of the objects, and their number.
    case objectIDs = 1
    /// The number of objects inserted, updated or deleted.
    case count = 2
}

/// The result of a batch request that was executed and is durable.
public struct BatchResult: Hashable, Sendable {
    /// The kind of result that the request selected.
    public var resultType: BatchResultType
    /// The number of objects inserted, updated or deleted. For an insert with `onConflict`, the number of inserted and updated objects.
    public var count = 0
    /// For an insert: the number of stored objects that were updated.
    public var updatedCount = 0
    /// For an insert: the number of rows skipped because a stored object has their unique values.
    public var skippedCount = 0
    /// The IDs of the counted objects, if `resultType` includes them. The IDs of an insert are in the order of its rows, all others in ascending order.
    public var objectIDs: [ManagedObjectID] = []

    init(_ resultType: BatchResultType) { self.resultType = resultType }
}
