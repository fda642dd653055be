internal import HornbeamEngine
package import HornbeamModel

/// One committed state of a store. It never changes and can be read on any thread. Safe: it owns the memory behind `views`.
@safe package final class StoreSnapshot: Sendable {
    /// The number of the commit that produced the version.
    package let transaction: UInt64
    /// True when the snapshot is pinned, so that it has no age limit.
    package var isPinned: Bool { engineSnapshot.isPinned }
    let engineSnapshot: Snapshot
    let reader: RowReader
    /// The views of the tables, by slot. They are made once, because making a view costs more than a read. They are behind a pointer, because
    /// reading a view out of an array would retain its parts each time.
    nonisolated(unsafe) private let views: UnsafeMutablePointer<TableView>  // written in `init` only
    private let viewCount: Int
    /// The readers of single cells, by slot of the table.
    private let cellTables: [TableCells]

    init(_ snapshot: Snapshot, reader: RowReader) throws(EngineError) {
        engineSnapshot = snapshot
        transaction = snapshot.transaction.rawValue
        self.reader = reader
        var made: [TableView] = []
        made.reserveCapacity(reader.schema.tables.count)
        for case let table? in reader.schema.tables { made.append(try snapshot.table(table.tree)) }
        viewCount = made.count
        unsafe views = .allocate(capacity: max(made.count, 1))
        unsafe views.initialize(from: made, count: made.count)
        cellTables = made.map { TableCells($0) }
    }

    deinit {
        unsafe views.deinitialize(count: viewCount)
        unsafe views.deallocate()
    }

    var schema: Schema { reader.schema }

    @inline(__always)
    func view(_ table: EntityTable) -> TableView { unsafe views[table.slot] }

    func cells(_ table: EntityTable) -> TableCells { cellTables[table.slot] }

    // MARK: Rows

    /// Passes the row of a key to `body`, without a copy of the table's view; nil when there is no row.
    @inline(__always)
    func readRow<R>(
        _ key: UInt64, of table: EntityTable, _ body: (RowView) throws(EngineError) -> R
    ) throws(EngineError) -> R? {
        unsafe try views[table.slot].withRow(key, body)
    }

    /// Passes the row of a key to `body`; nil when there is no row. Reads the row at `location` if that is valid, and otherwise sets it.
    @inline(__always)
    func readRow<R>(
        _ key: UInt64, of table: EntityTable, at location: inout RowLocation, _ body: (RowView) throws(EngineError) -> R
    ) throws(EngineError) -> R? {
        unsafe try views[table.slot].withRow(key, at: &location, body)
    }

    package func exists(_ entity: EntityDescription, _ key: UInt64) throws -> Bool {
        try EngineError.translated { () throws(EngineError) in
            try view(schema.table(entity)).contains(key)
        }
    }

    /// Passes the row of an object to `body`; nil when there is no row. `entity` is the object's concrete entity.
    package func withRow<R>(
        _ entity: EntityDescription, _ key: UInt64, _ hint: inout RowHint, _ body: (StoredRow) throws -> R
    ) throws -> R? {
        let table = schema.table(entity)
        var failure: (any Error)?
        let result: R?? = try EngineError.translated { () throws(EngineError) in
            unsafe try views[table.slot].withRow(key, at: &hint.location) { (row) throws(EngineError) -> R? in
                do {
                    return try body(StoredRow(key: key, view: row, table: table, reader: reader))
                } catch {
                    failure = error
                    return nil
                }
            }
        }
        if let failure { throw failure }
        return result ?? nil
    }

    /// All values of an object, copied; nil when there is no row.
    package func values(_ entity: EntityDescription, _ key: UInt64) throws -> RowValues? {
        var hint = RowHint()
        return try withRow(entity, key, &hint) { RowValues(version: $0.version, values: try $0.values()) }
    }

    // MARK: One property

    /// The value of one property; nil when there is no row, `.null` when there is no value. A to-one is `.objectID`.
    package func value(
        of property: PropertyDescription, _ entity: EntityDescription, _ key: UInt64, _ hint: inout RowHint
    ) throws -> PropertyValue? {
        try readCell(property, entity, key, &hint) { (column, row) throws(EngineError) in
            try column.value(in: row, schema: schema, origin: reader.origins)
        }
    }

    /// The destination of a to-one. The outer optional is nil when there is no row, the inner one when there is no value.
    package func toOne(
        of property: PropertyDescription, _ entity: EntityDescription, _ key: UInt64, _ hint: inout RowHint
    ) throws -> ObjectReference?? {
        try readCell(property, entity, key, &hint) { (column, row) throws(EngineError) -> ObjectReference? in
            row.isNull(column.column) ? nil : column.reference(in: row, schema: schema)
        }
    }

    @inline(__always)
    private func readCell<R>(
        _ property: PropertyDescription, _ entity: EntityDescription, _ key: UInt64, _ hint: inout RowHint,
        _ body: (StoredColumn, RowView) throws(EngineError) -> R
    ) throws -> R? {
        let table = schema.table(entity)
        let column = table.column(property)
        return try EngineError.translated { () throws(EngineError) in
            unsafe try views[table.slot].withRow(key, at: &hint.location) { (row) throws(EngineError) -> R in
                try body(column, row)
            }
        }
    }
}
