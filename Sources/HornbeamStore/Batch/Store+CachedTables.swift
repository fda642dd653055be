internal import HornbeamEngine
internal import HornbeamModel

// Puts many new rows of a querying store into the cache: in the order of their keys, with one batch of entries for each index.

extension Store {
    /// Caches rows in both forms.
    func updateCache(_ rows: [CustomStoreRow], _ tables: [CustomStoreTable]) throws {
        var rows = rows
        for table in tables where table.count > 0 { rows += try insert(table) }
        try updateCache(rows)
    }

    /// Inserts the rows of objects that are not cached. Returns those that the caller must compare one by one: of cached objects, and all if one has a
    /// unique value of a cached object.
    private func insert(_ table: CustomStoreTable) throws -> [CustomStoreRow] {
        guard let backing, schema.derivations.isEmpty else { return rows(of: table, table.keys.indices) }
        let (new, cached) = backing.places(of: table)
        if !new.isEmpty {
            do { try insert(new, of: table) } catch is CachedRowConflict { return rows(of: table, table.keys.indices) }
            backing.setVersions(of: new, in: table)
        }
        return rows(of: table, cached)
    }

    private func rows(of table: CustomStoreTable, _ places: some Sequence<Int>) -> [CustomStoreRow] { places.map { table.row($0, in: model) } }

    private func insert(_ places: [Int], of rows: CustomStoreTable) throws {
        let writer = try CachedTableWriter(self, rows)
        do {
            for place in places { try writer.insert(place) }
            try writer.session.writeEntries()
        } catch {
            writer.session.transaction.abort()
            if error is SaveConflicts { throw CachedRowConflict() }
            throw (error as? EngineError).map { HornbeamError($0) } ?? error
        }
        _ = try commit(writer.session.transaction, durability, publishing: writer.session.finishedChange())
    }
}

extension StoreBacking {
    /// The places of the rows of new objects, in ascending order of their keys and each object once, and the places of the rows of cached objects.
    fileprivate func places(of table: CustomStoreTable) -> (new: [Int], cached: [Int]) {
        var (new, cached) = split(table.keys)
        if zip(new, new.dropFirst()).allSatisfy({ table.keys[$0] < table.keys[$1] }) { return (new, cached) }
        new.sort { table.keys[$0] < table.keys[$1] }
        var last: UInt64 = 0
        new = new.filter { place in
            defer { last = table.keys[place] }
            return table.keys[place] != last
        }
        return (new, cached)
    }
}

/// Stops the insertion of rows into the cache, which then compares them one by one.
private struct CachedRowConflict: Error {}

/// Writes rows of one table into the cache.
private final class CachedTableWriter {
    /// A property of the rows. It has no references, so that a row needs no reference counting.
    private struct Cell {
        let column: CellColumn
        /// The index of the property.
        let property: Int
        let isKeyCell: Bool
        /// The place in `mirrors`; -1 for other properties.
        let mirror: Int
    }

    let session: BatchSession
    private let store: Store
    private let rows: CustomStoreTable
    private let table: EntityTable
    private let cells: [Cell]
    private let mirrors: [EntityTable.Mirror]
    /// The destinations of the current row's to-one relationships in `mirrors`.
    private var owners: [ObjectReference?]
    private var keyCells: [KeyCell]

    init(_ store: Store, _ rows: CustomStoreTable) throws {
        self.store = store
        self.rows = rows
        let table = store.schema.table(rows.entity)
        self.table = table
        session = try BatchSession(store, table, writesUniqueKeysImmediately: false, rowsExpected: 0, refusesOtherChanges: false)
        keyCells = table.columns.map { column in
            KeyCell(isNeeded: column.map { column in table.indexes.contains { $0.properties.contains(column.property) } } ?? false)
        }
        mirrors = table.mirrors
        owners = Array(repeating: nil, count: mirrors.count)
        cells = rows.properties.map { [mirrors, keyCells] property in
            let column = table.column(property)
            return Cell(
                column: CellColumn(position: column.column, type: column.type), property: property.index, isKeyCell: keyCells[property.index].isNeeded,
                mirror: mirrors.firstIndex { $0.column.property === property } ?? -1)
        }
    }

    func insert(_ number: Int) throws {
        let (key, row) = (rows.keys[number], session.row)
        guard key > 0, key < 1 << 48 else { throw CachedRowConflict() }
        row.reset()
        row.set(EntityTable.versionColumn, UInt32(1))
        let first = number * cells.count
        var destination = number * rows.destinationCount
        for place in cells.indices {
            let cell = cells[place]
            if cell.column.type == .reference {
                try set(rows.values[first + place], rows.destinations[destination], cell)
                destination += 1
            } else {
                try set(rows.values[first + place], cell)
            }
        }
        guard try session.transaction.put(row, key: key, in: table.tree) else { throw CachedRowConflict() }
        let object = ObjectReference(entityIndex: table.index, key: key)
        try session.addEntries(of: object, cells: keyCells)
        for place in mirrors.indices { if let owner = owners[place] { try session.addMember(object, owner, ofMirror: place) } }
        session.recordInserted(object)
    }

    private func set(_ value: PropertyValue, _ cell: Cell) throws {
        if cell.column.write(value, to: session.row) {
            if cell.isKeyCell { keyCells[cell.property].set(value) }
            return
        }
        let column = table.column(rows.entity.properties[cell.property])
        let converted = try column.coerced(value)
        try column.write(converted, to: session.row, schema: store.schema, origin: store.reader.origins)
        if cell.isKeyCell { keyCells[cell.property].set(converted) }
    }

    /// Sets a to-one relationship.
    private func set(_ key: PropertyValue, _ entity: Int32, _ cell: Cell) throws {
        if cell.isKeyCell { keyCells[cell.property].set(key) }
        if cell.mirror >= 0 { owners[cell.mirror] = nil }
        guard entity >= 0, case .int(let bits) = key else { return }
        let column = table.column(rows.entity.properties[cell.property])
        guard entity == column.destination || isDestination(entity, of: column) else { throw CachedRowConflict() }
        let target = ObjectReference(entityIndex: entity, key: UInt64(bitPattern: bits))
        column.write(target, to: session.row, schema: store.schema)
        if cell.mirror >= 0 { owners[cell.mirror] = target }
    }

    private func isDestination(_ entity: Int32, of column: StoredColumn) -> Bool {
        guard let destination = column.property.destinationEntity, store.model.entities.indices.contains(Int(entity)) else { return false }
        return store.model.entities[Int(entity)].isKind(of: destination)
    }
}
