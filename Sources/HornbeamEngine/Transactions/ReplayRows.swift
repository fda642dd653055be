// Rows that are used again for decoding redo: making a row allocates four times.

/// The rows into which redo is decoded, one for each of the last tables.
///
/// `@unchecked Sendable`: only the transaction that has the writer's turn uses it.
final class ReplayRows: @unchecked Sendable {
    private var rows: [(table: TreeID, row: RowBuffer)] = []
    /// The largest number of rows. Few saves write into more tables.
    private static let countMax = 8

    /// A row of a table with a layout. Its cells are those of its last use.
    func row(of table: TreeID, _ layout: ColumnLayout) -> RowBuffer {
        if let found = rows.first(where: { $0.table == table }), found.row.layout == layout { return found.row }
        rows.removeAll { $0.table == table }
        if rows.count >= Self.countMax { rows.removeFirst() }
        let row = RowBuffer(layout: layout)
        rows.append((table, row))
        return row
    }
}
