internal import HornbeamEngine
internal import HornbeamModel

/// Finds default values that can be written into the cells of an existing table, at the cost of a batch update.
extension MigrationDraft {
    /// The columns of a table in which null cells become default values; nil when the rows must be rewritten for another reason, when an index contains
    /// the cells, when a row could become too long for its leaf, or when one transaction should not change so many leaves.
    mutating func fillsInPlace(_ step: TableStep, _ rows: TableView) throws(EngineError) -> [ColumnFill]? {
        var fills: [ColumnFill] = []
        var leaves = 0
        var lengths: [Int: Int] = [:]
        for column in step.columns {
            guard case .fillNull = column.conversion else { continue }
            guard case .column(let old, _) = column.source, old.number == column.stored.number,
                !isIndexed(column.property, in: step.entity),
                let cell = column.property.migratedDefaultValue.cellBytes(column.stored.type),
                let place = rows.layout.columns.firstIndex(where: { $0.id == ColumnID(UInt32(old.number)) })
            else { return nil }
            let selection = try rows.rowsWithoutValue(inColumn: place, leavesMax: leavesInPlace - leaves)
            guard let selection else { return nil }
            leaves += selection.leafCount
            if column.stored.type.columnKind == .bytes {
                lengths[place] = cell.count
                // The cells need further leaves.
                leaves += selection.leafCount + selection.count * cell.count / rows.pageSize
            }
            fills.append(ColumnFill(column: place, cell: cell, rows: selection))
        }
        guard fills.count == step.reasons.count, leaves <= leavesInPlace else { return nil }
        for fill in fills where lengths[fill.column] != nil {
            guard try rows.hasRoom(for: lengths, in: fill.rows) else { return nil }
        }
        leavesInPlace -= leaves
        return fills
    }

    /// True when an index of the new version may read the property.
    private func isIndexed(_ property: PropertyDescription, in entity: EntityDescription) -> Bool {
        Catalogue(model: new).indexes.contains { index in
            guard let owner = new.entitiesByName[index.entity], entity.isKind(of: owner) else { return false }
            return index.condition != nil
                || index.elements.contains { $0.isExpression == true || $0.property.prefix { $0 != "." } == property.name }
        }
    }
}

extension TableView {
    /// The rows that are null in a column; nil when too many leaves contain such rows.
    fileprivate func rowsWithoutValue(inColumn column: Int, leavesMax: Int) throws(EngineError) -> RowSelection? {
        var rows = RowSelection()
        try forEachLeaf { (leaf) throws(EngineError) -> Bool in
            var bits = [UInt64](repeating: 0, count: (leaf.count + 63) / 64)
            for slot in 0 ..< leaf.count where leaf.row(slot).isNull(column) { bits[slot >> 6] |= 1 << UInt64(slot & 63) }
            rows.append(leaf, bits)
            return rows.leafCount <= leavesMax
        }
        return rows.leafCount <= leavesMax ? rows : nil
    }
}
