internal import HornbeamEngine
package import HornbeamModel
internal import Synchronization

/// One committed state of a store. It never changes and can be read on any thread. Safe: it owns the memory behind `tables`.
@safe package final class StoreSnapshot: Sendable {
    /// The number of the commit that produced the version.
    package let transaction: UInt64
    /// True when the snapshot is pinned, so that it has no age limit.
    package var isPinned: Bool { engineSnapshot.isPinned }
    let engineSnapshot: Snapshot
    let reader: RowReader
    /// The views of the tables and the readers of their cells, by slot. They are made at their first use, because each save makes a snapshot, and most
    /// snapshots of a large model read few tables. They are behind pointers, because reading one out of an array would retain its parts each time.
    nonisolated(unsafe) private let tables: UnsafeMutablePointer<Atomic<UnsafeMutablePointer<Table>?>>  // each is set once
    private let tableCount: Int

    private struct Table {
        let view: TableView
        let cells: TableCells
    }

    init(_ snapshot: Snapshot, reader: RowReader) throws(EngineError) {
        engineSnapshot = snapshot
        transaction = snapshot.transaction.rawValue
        self.reader = reader
        var count = 0
        for case let table? in reader.schema.tables {
            try snapshot.requireTable(table.tree)
            count += 1
        }
        tableCount = count
        unsafe tables = .allocate(capacity: max(count, 1))
        for slot in 0..<count { unsafe (tables + slot).initialize(to: Atomic(nil)) }
    }

    deinit {
        for slot in 0..<tableCount { if let table = unsafe tables[slot].load(ordering: .acquiring) { unsafe Self.release(table) } }
        unsafe tables.deinitialize(count: tableCount)
        unsafe tables.deallocate()
    }

    @inline(__always)
    private func made(_ table: EntityTable) -> UnsafeMutablePointer<Table> {
        unsafe tables[table.slot].load(ordering: .acquiring) ?? make(table)
    }

    /// Without a lock: a child process that was forked meanwhile would inherit it locked.
    @inline(never)
    private func make(_ table: EntityTable) -> UnsafeMutablePointer<Table> {
        assert(table.slot < tableCount, "A table has a slot of its schema.")
        let view: TableView
        do throws(EngineError) { view = try engineSnapshot.table(table.tree) } catch {
            preconditionFailure("A snapshot has the tables of its schema, because its initializer has looked them up: \(error.message)")
        }
        let made = UnsafeMutablePointer<Table>.allocate(capacity: 1)
        unsafe made.initialize(to: Table(view: view, cells: TableCells(view)))
        let (isFirst, present) = unsafe tables[table.slot].compareExchange(expected: nil, desired: made, ordering: .acquiringAndReleasing)
        // Another thread may have made the table meanwhile.
        guard !isFirst, let present = unsafe present else { return unsafe made }
        unsafe Self.release(made)
        return unsafe present
    }

    private static func release(_ table: UnsafeMutablePointer<Table>) {
        unsafe table.deinitialize(count: 1)
        unsafe table.deallocate()
    }

    var schema: Schema { reader.schema }

    @inline(__always)
    func view(_ table: EntityTable) -> TableView { unsafe made(table).pointee.view }

    func cells(_ table: EntityTable) -> TableCells { unsafe made(table).pointee.cells }

    // MARK: Rows

    /// Passes the row of a key to `body`, without a copy of the table's view; nil when there is no row. Most rows are found without a descent.
    @inline(__always)
    func readRow<R>(
        _ key: UInt64, of table: EntityTable, _ body: (RowView) throws(EngineError) -> R
    ) throws(EngineError) -> R? {
        var (result, location): (R?, RowLocation) = (nil, RowLocation())
        _ = try cells(table).readRow(key, at: &location) { (row) throws(EngineError) in result = try body(row) }
        return result
    }

    /// Passes the row of a key to `body`; nil when there is no row. Reads the row at `location` if that is valid, and otherwise sets it.
    @inline(__always)
    func readRow<R>(
        _ key: UInt64, of table: EntityTable, at location: inout RowLocation, _ body: (RowView) throws(EngineError) -> R
    ) throws(EngineError) -> R? {
        unsafe try made(table).pointee.view.withRow(key, at: &location, body)
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
            unsafe try made(table).pointee.view.withRow(key, at: &hint.location) { (row) throws(EngineError) -> R? in
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
            unsafe try made(table).pointee.view.withRow(key, at: &hint.location) { (row) throws(EngineError) -> R in
                try body(column, row)
            }
        }
    }
}
