internal import HornbeamEngine
internal import HornbeamModel

// Puts many new rows of a querying store into the cache, in the order of their keys and without index entries. Most rows that an app reads are never found
// through the cache's indexes: the querying store finds them. A row gets its entries when it is given as a single row, for example as a member of a
// relationship (`CachedVersions.lacksEntries`).

extension Store {
    /// Caches rows in both forms.
    func updateCache(_ rows: [CustomStoreRow], _ tables: [CustomStoreTable]) throws {
        var rows = rows
        for table in tables where table.count > 0 { rows += try insert(table) }
        try updateCache(rows)
    }

    /// Inserts the rows of objects that are not cached. Returns those of cached objects, which the caller must compare one by one.
    private func insert(_ table: CustomStoreTable) throws -> [CustomStoreRow] {
        guard let backing, schema.derivations.isEmpty else { return rows(of: table, table.keys.indices) }
        let (new, cached) = backing.places(of: table)
        if !new.isEmpty {
            // The new rows are missing in relationships that were read before. Contexts read these again when the rows are published.
            backing.forgetMembers()
            guard try insert(new, of: table) else { return rows(of: table, table.keys.indices) }
            backing.setVersions(of: new, in: table)
        }
        return rows(of: table, cached)
    }

    private func rows(of table: CustomStoreTable, _ places: some Sequence<Int>) -> [CustomStoreRow] { places.map { table.row($0, in: model) } }

    /// Returns false, and inserts nothing, if one of the rows is not valid.
    private func insert(_ places: [Int], of rows: CustomStoreTable) throws -> Bool {
        let transaction = try beginTransaction()
        do {
            var writer = try CachedTableWriter(self, rows, transaction, count: places.count)
            guard try places.allSatisfy({ try writer.insert($0) }), try writer.flush() else {
                transaction.abort()
                return false
            }
            _ = try commit(transaction, durability, publishing: writer.change())
            return true
        } catch {
            transaction.abort()
            throw (error as? EngineError).map { HornbeamError($0) } ?? error
        }
    }
}

extension StoreBacking {
    /// The places of the rows of new objects, in ascending order of their keys and each object once, and the places of the rows of cached objects.
    fileprivate func places(of table: CustomStoreTable) -> (new: [Int], cached: [Int]) {
        var (new, cached) = split(table.keys)
        if zip(new, new.dropFirst()).allSatisfy({ table.keys[$0] < table.keys[$1] }) { return (new, cached) }
        new.sort { table.keys[$0] < table.keys[$1] }
        var last: UInt64?
        new = new.filter { place in
            defer { last = table.keys[place] }
            return table.keys[place] != last
        }
        return (new, cached)
    }
}

extension CellColumn {
    /// Writes a value that needs no conversion into an empty row. Returns false for other values.
    fileprivate func write(_ value: CompactValues.Value, of values: CompactValues, to row: RowBuffer) -> Bool {
        switch (value.kind, type) {
        case (.null, _): break
        case (.int, .int64): row.set(position, value.int)
        case (.int, .int32):
            guard let number = Int32(exactly: value.int) else { return false }
            row.set(position, number)
        case (.int, .int16):
            guard let number = Int16(exactly: value.int) else { return false }
            row.set(position, number)
        // The negative zero is stored as zero, by a conversion.
        case (.double, .double) where value.bits != 1 << 63: row.set(position, value.double)
        case (.bool, .bool): row.setBit(position, value.bits != 0)
        case (.date, .date): row.set(position, value.double)
        case (.text, .string): unsafe values.withUTF8(of: value) { unsafe row.setBytes(position, UnsafeRawBufferPointer($0)) }
        default: return false
        }
        return true
    }
}

/// Writes rows of one table into the cache.
private struct CachedTableWriter {
    /// A property of the rows. It has no references, so that a row needs no reference counting.
    private struct Cell {
        let column: CellColumn
        /// The index of the property.
        let property: Int
        /// The place in `mirrors`; -1 for other properties.
        let mirror: Int
    }

    /// The number of rows that are put together.
    private static let rowsTogether = 32

    private let transaction: WriteTransaction
    /// The buffers of the rows that are put together, and the keys of the rows that they have.
    private let buffers: [RowBuffer]
    private var keys: [UInt64] = []
    private let store: Store
    private let rows: CustomStoreTable
    private let table: EntityTable
    private let cells: [Cell]
    private let mirrors: [EntityTable.Mirror]
    /// For each mirror the objects to which the rows refer. An object can occur several times.
    private var owners: [[UInt64]]
    private var inserted: [ObjectReference] = []

    /// - Parameter count: The number of rows that will be inserted.
    init(_ store: Store, _ rows: CustomStoreTable, _ transaction: WriteTransaction, count: Int) throws {
        self.store = store
        self.rows = rows
        self.transaction = transaction
        let table = store.schema.table(rows.entity)
        self.table = table
        let layout = try transaction.table(table.tree).layout
        buffers = (0 ..< min(Self.rowsTogether, count)).map { _ in RowBuffer(layout: layout) }
        keys.reserveCapacity(buffers.count)
        inserted.reserveCapacity(count)
        mirrors = table.mirrors
        owners = mirrors.map { _ in [] }
        cells = rows.properties.map { [mirrors] property in
            let column = table.column(property)
            return Cell(
                column: CellColumn(position: column.column, type: column.type), property: property.index,
                mirror: mirrors.firstIndex { $0.column.property === property } ?? -1)
        }
    }

    /// False if a value is not valid.
    mutating func insert(_ number: Int) throws -> Bool {
        let key = rows.keys[number]
        guard key > 0, key < 1 << 48 else { return false }
        let row = buffers[keys.count]
        row.reset()
        row.set(EntityTable.versionColumn, UInt32(1))
        let first = number * cells.count
        var destination = number * rows.destinationCount
        for place in cells.indices {
            let cell = cells[place]
            let value = rows.values[first + place]
            if cell.column.type == .reference {
                guard set(value, rows.destinations[destination], cell, in: row) else { return false }
                destination += 1
            } else if !cell.column.write(value, of: rows.values, to: row) {
                let column = table.column(rows.entity.properties[cell.property])
                try column.write(try column.coerced(rows.values.propertyValue(value)), to: row, schema: store.schema, origin: store.reader.origins)
            }
        }
        keys.append(key)
        inserted.append(ObjectReference(entityIndex: table.index, key: key))
        return try keys.count < buffers.count || flush()
    }

    /// Puts the rows in the buffers. False if one of them exists already.
    mutating func flush() throws -> Bool {
        defer { keys.removeAll(keepingCapacity: true) }
        return try transaction.put(buffers[..<keys.count], keys, in: table.tree)
    }

    /// Sets a to-one relationship.
    private mutating func set(_ key: CompactValues.Value, _ entity: Int32, _ cell: Cell, in row: RowBuffer) -> Bool {
        guard entity >= 0, key.kind == .int else { return true }
        guard key.bits > 0, key.bits < 1 << 48 else { return false }
        let column = table.column(rows.entity.properties[cell.property])
        guard entity == column.destination || isDestination(entity, of: column) else { return false }
        let target = ObjectReference(entityIndex: entity, key: key.bits)
        column.write(target, to: row, schema: store.schema)
        if cell.mirror >= 0 { owners[cell.mirror].append(Self.number(of: target)) }
        return true
    }

    private func isDestination(_ entity: Int32, of column: StoredColumn) -> Bool {
        guard let destination = column.property.destinationEntity, store.model.entities.indices.contains(Int(entity)) else { return false }
        return store.model.entities[Int(entity)].isKind(of: destination)
    }

    /// A reference as one number, which is quickly sorted.
    private static func number(of object: ObjectReference) -> UInt64 { UInt64(object.entityIndex) << 48 | object.key }

    private static func object(_ number: UInt64) -> ObjectReference {
        ObjectReference(entityIndex: Int32(number >> 48), key: number & (1 << 48 - 1))
    }

    /// The change to be published: the new rows, and the objects whose to-many relationships have them as members.
    func change() -> StoreChange {
        var change = StoreChange()
        change.inserted = inserted
        for (mirror, owners) in zip(mirrors, owners) {
            let mask = PropertyMask(CollectionOfOne(mirror.link.relationship.index))
            var last: UInt64?
            for owner in owners.sorted() where owner != last {
                change.updated.append(StoreChange.Updated(reference: Self.object(owner), properties: mask))
                last = owner
            }
        }
        if mirrors.count > 1 {
            var masks: [ObjectReference: PropertyMask] = [:]
            for update in change.updated { masks[update.reference, default: PropertyMask()].formUnion(update.properties) }
            change.updated = masks.sorted { $0.key < $1.key }.map { StoreChange.Updated(reference: $0.key, properties: $0.value) }
        }
        if change.updated.contains(where: { $0.reference.entityIndex == table.index }) {
            let new = Set(inserted)
            change.updated.removeAll { new.contains($0.reference) }
        }
        return change
    }
}
