internal import HornbeamEngine

/// Computes a result from the matching rows of a fetch in the place of a list of them.
protocol RowFeed: AnyObject {
    /// True when parts of a table's rows can be processed separately and combined to exactly the same result.
    func canScanInParts(_ table: EntityTable) -> Bool
    func accept(_ rows: RowBatch, _ table: EntityTable) throws(EngineError)
    /// A feed for another part of the rows.
    func emptyCopy(_ context: FilterContext) -> any RowFeed
    /// Adds the result of a feed for another part.
    func add(_ other: any RowFeed)
}

/// Rows that a fetch passes to a feed: the selected rows of a leaf, or a single row. Valid only inside the closure that gets it.
enum RowBatch {
    case leaf(LeafView, Selection)
    case row(RowView)

    var count: Int {
        switch self {
        case .leaf(_, let selection): selection.selectedCount
        case .row: 1
        }
    }

    @inline(__always)
    func forEach(_ body: (RowView) throws(EngineError) -> Void) throws(EngineError) {
        switch self {
        case .row(let row): try body(row)
        case .leaf(let leaf, let selection):
            _ = try selection.forEach { (slot) throws(EngineError) -> Bool in
                try body(leaf.row(slot))
                return true
            }
        }
    }
}
