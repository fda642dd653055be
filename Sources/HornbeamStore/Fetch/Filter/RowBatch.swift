internal import HornbeamEngine

/// Rows that a fetch passes to a feed: the selected rows of a leaf, some rows by ascending key, or a single row. Valid only inside the closure that gets it.
enum RowBatch {
    case leaf(LeafView, Selection)
    case rows([RowView])
    case row(RowView)

    var count: Int {
        switch self {
        case .leaf(_, let selection): selection.selectedCount
        case .rows(let rows): rows.count
        case .row: 1
        }
    }

    @inline(__always)
    func forEach(_ body: (RowView) throws(EngineError) -> Void) throws(EngineError) {
        switch self {
        case .row(let row): try body(row)
        case .rows(let rows): for row in rows { try body(row) }
        case .leaf(let leaf, let selection):
            _ = try selection.forEach { (slot) throws(EngineError) -> Bool in
                try body(leaf.row(slot))
                return true
            }
        }
    }
}
