internal import HornbeamEngine

/// Computes a result from the matching rows of a fetch in the place of a list of them.
protocol RowFeed: AnyObject {
    /// True when parts of a table's rows can be processed separately and combined to exactly the same result.
    func canScanInParts(_ table: EntityTable) -> Bool
    /// The columns of a table to which the reads of the feed are limited, in the form of `Filter.onlyColumns`.
    func onlyColumns(of table: EntityTable) -> UInt64?
    func accept(_ rows: RowBatch, _ table: EntityTable) throws(EngineError)
    /// A feed for another part of the rows.
    func emptyCopy(_ context: FilterContext) -> any RowFeed
    /// Adds the result of a feed for another part.
    func add(_ other: any RowFeed)
}
