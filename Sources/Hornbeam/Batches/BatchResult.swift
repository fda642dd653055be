public import HornbeamModel

/// What a batch request is to tell of its work (BAT-1 … BAT-3). Raw values are Core Data's.
public enum BatchResultType: Int, Hashable, Sendable, Codable {
    /// That it was done, which is all that the others say too.
    case status = 0
    /// The IDs of the objects, beside their number.
    case objectIDs = 1
    /// How many objects were inserted, updated or deleted.
    case count = 2
}

/// What a batch request did. That there is one means that the work is done and durable.
public struct BatchResult: Hashable, Sendable {
    /// The kind of result that the request asked for.
    public var resultType: BatchResultType
    /// How many objects were inserted, updated or deleted; of an insert with `onConflict` both new and changed ones.
    public var count = 0
    /// Of an insert: how many of them were stored already, and were given new values.
    public var updatedCount = 0
    /// Of an insert: how many rows were left out because an object with their unique values is stored.
    public var skippedCount = 0
    /// The objects counted, when `resultType` asks for them: an insert's in the order of its rows, others' by ID.
    public var objectIDs: [ManagedObjectID] = []

    init(_ resultType: BatchResultType) { self.resultType = resultType }
}
