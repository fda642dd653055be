internal import HornbeamEngine
internal import HornbeamModel

/// Rows of one entity that a batch changed in the same way. `references` lists them one by one.
struct ChangedRows: Sendable {
    let entityIndex: Int32
    let rows: RowSelection
    /// The changed properties of each row; empty for deleted rows.
    var properties = PropertyMask()
    /// The slot of the store in its coordinator.
    var slot = StoreSlot.first

    var references: [ObjectReference] {
        var references: [ObjectReference] = []
        references.reserveCapacity(rows.count)
        rows.forEachKey { references.append(ObjectReference(entityIndex: entityIndex, key: $0 | slot.bits)) }
        assert(references.count == rows.count, "A selection counts its rows.")
        return references
    }
}

extension StoreChange {
    /// Objects with changed values, and owners of to-many relationships with changed members.
    package var updated: [Updated] {
        get {
            updatedRows.isEmpty
                ? listedUpdates
                : (listedUpdates + updatedRows.flatMap { rows in
                    rows.references.map { Updated(reference: $0, properties: rows.properties) }
                }).sorted { $0.reference < $1.reference }
        }
        _modify {
            if !updatedRows.isEmpty {
                let before = count
                listedUpdates = updated
                updatedRows = []
                assert(count == before, "Listing rows one by one keeps their number.")
            }
            yield &listedUpdates
        }
    }

    package var deleted: [ObjectReference] {
        get { deletedRows.isEmpty ? listedDeletions : (listedDeletions + deletedRows.flatMap(\.references)).sorted() }
        _modify {
            if !deletedRows.isEmpty {
                let before = count
                listedDeletions = deleted
                deletedRows = []
                assert(count == before, "Listing rows one by one keeps their number.")
            }
            yield &listedDeletions
        }
    }

    /// The number of objects, in O(1).
    package var count: Int {
        if onlyInserts { return inserted.count }
        return inserted.count + listedUpdates.count + listedDeletions.count + (updatedRows + deletedRows).reduce(0) { $0 + $1.rows.count }
    }

    package var isEmpty: Bool { count == 0 }

    mutating func recordUpdate(of rows: RowSelection, _ table: EntityTable, _ properties: PropertyMask) {
        assert(properties.indexes.allSatisfy { table.columns.indices.contains($0) }, "A batch changes properties of its entity.")
        updatedRows.append(ChangedRows(entityIndex: table.index, rows: rows, properties: properties))
    }

    mutating func recordDeletion(of rows: RowSelection, _ table: EntityTable) {
        deletedRows.append(ChangedRows(entityIndex: table.index, rows: rows))
    }
}
