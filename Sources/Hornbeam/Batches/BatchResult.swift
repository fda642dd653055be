public import HornbeamModel

/// The content of a batch request's result (BAT-1 … BAT-3). Raw values are Core Data's.
public enum BatchResultType: Int, Hashable, Sendable, Codable {
    /// Only that the request was executed, which every result includes.
    case status = 0
    /// The IDs of the objects, and their number.
    case objectIDs = 1
    /// The number of objects inserted, updated or deleted.
    case count = 2
}

/// The result of a batch request that was executed and is durable.
public struct BatchResult: Hashable, Sendable {
    /// The kind of result that the request asked for.
    public var resultType: BatchResultType
    /// The number of objects inserted, updated or deleted; for an insert with `onConflict`, both new and updated ones.
    public var count = 0
    /// For an insert: how many of them were already stored and were updated.
    public var updatedCount = 0
    /// For an insert: the number of rows skipped because their unique values are already stored.
    public var skippedCount = 0
    /// The objects counted, if `resultType` includes them: of an insert in the order of its rows, of others by ID.
    public var objectIDs: [ManagedObjectID] = []

    init(_ resultType: BatchResultType) { self.resultType = resultType }
}
