internal import HornbeamEngine
internal import HornbeamModel

/// Executes one `ChangeSet` in one transaction: checks first, then rows, indexes and links.
///
/// The fields that each row changes skip the check of exclusive access: the code to which one is lent uses no execution.
final class SaveExecution {
    let transaction: WriteTransaction
    let reader: RowReader
    let changes: ChangeSet
    @safe @exclusivity(unchecked) var key = IndexKey()
    @safe @exclusivity(unchecked) var change = StoreChange()
    /// The index entries that one object removes and adds; empty between objects.
    @safe @exclusivity(unchecked) var oldEntries: [(ValueIndex, [UInt8])] = []
    @safe @exclusivity(unchecked) var newEntries: [(ValueIndex, IndexKey)] = []
    let buffers: RowBuffers
    /// True if an object without a row does not exist, so that links to it are omitted.
    var checksMembers: Bool
    /// Unique keys with derived attributes of updated objects. They are claimed after the derived attributes are computed.
    @safe @exclusivity(unchecked) var keysToDerive: [(index: ValueIndex, object: ObjectReference)] = []
    /// Derived attributes that `updateDerivedValues` computes again.
    var stale = StaleValues()
    /// The changed properties of each object, collected until the end.
    @safe @exclusivity(unchecked) private(set) var masks: [ObjectReference: PropertyMask] = [:]

    var schema: Schema { reader.schema }

    /// - Parameter buffers: The buffers of a finished execution, for reuse.
    init(_ changes: ChangeSet, transaction: WriteTransaction, reader: RowReader, buffers: RowBuffers? = nil) {
        self.changes = changes
        self.transaction = transaction
        self.reader = reader
        self.buffers = buffers ?? RowBuffers(reader.schema)
        checksMembers = reader.hasAllRows
        swap(&key, &self.buffers.key)
    }

    /// Writes all changes. After an error, such as `SaveConflicts`, the caller must abort the transaction.
    func run() throws {
        defer { swap(&key, &buffers.key) }
        if changes.onlyInserts, schema.derivations.isEmpty { return try runInserts() }
        // A few updates read each row once, for its version and for its new values.
        let isSmall = changes.deletes.isEmpty && changes.updates.count <= Self.updatesPerRead
        if !isSmall { try checkVersions() }
        // Each update adds a mask for its object, and each insert one for the owner of each mirror.
        masks.reserveCapacity(changes.updates.count + changes.inserts.count)
        let updates = try changes.updates.map { try UpdateValues($0, table: schema.table($0.entity)) }
        let inserts = try changes.inserts.map { try InsertValues($0, table: schema.table($0.entity)) }
        let prepared = isSmall ? try prepareComparingVersions(updates) : []
        try claimUniqueKeys(updates, inserts)
        try findStaleValues(afterDeleting: changes.deletes.lazy.map { ObjectReference($0.entity, $0.key) })
        for delete in changes.deletes { try execute(delete) }
        if isSmall { for update in prepared { try write(update) } } else { try execute(updates) }
        for insert in inserts { try execute(insert) }
        for link in changes.links where try rowExists(link.owner) { try execute(link) }
        if !schema.derivations.isEmpty {
            try updateDerivedValues(
                written: change.inserted + updates.map(\.reference), inserted: change.inserted, changed: masks)
        }
        finishChange()
    }

    /// Executes a save of new objects alone, which is the most common save.
    private func runInserts() throws {
        let inserts = try changes.inserts.map { try InsertValues($0, table: schema.table($0.entity)) }
        try claimUniqueKeys([], inserts)
        for insert in inserts { try execute(insert) }
        finishChange()
    }

    func buffer(_ table: EntityTable) throws(EngineError) -> RowBuffer {
        try buffers.buffer(of: table, in: transaction)
    }

    func members() -> MemberWriter { MemberWriter(transaction: transaction, schema: schema) }

    // MARK: The published change

    func note(_ object: ObjectReference, property: Int) { masks[object, default: PropertyMask()].insert(property) }

    func note(_ object: ObjectReference, mask: PropertyMask) {
        masks[object, default: PropertyMask()].formUnion(mask)
    }

    /// Completes the change to be published.
    func finishChange() {
        assert(oldEntries.isEmpty && newEntries.isEmpty, "The index entries of each object are exchanged.")
        assert(change.inserted.count == changes.inserts.count { $0.cachedVersion == nil }, "Each new object is inserted once.")
        change.author = changes.author
        change.contextName = changes.contextName
        change.originator = changes.originator
        if masks.isEmpty { return }
        for object in change.inserted + change.deleted { masks[object] = nil }
        change.updated = masks.sorted { $0.key < $1.key }.map {
            StoreChange.Updated(reference: $0.key, properties: $0.value)
        }
    }
}

/// An insert with its values converted to the types of the columns.
struct InsertValues {
    let table: EntityTable
    let key: UInt64
    /// Indexed by property index.
    let values: [PropertyValue]
    /// Nil for a new row.
    let cachedVersion: UInt32?

    init(_ insert: ChangeSet.Insert, table: EntityTable) throws {
        self.table = table
        cachedVersion = insert.cachedVersion
        assert(insert.row.count == table.entity.properties.count, "A new row has a value for each property.")
        key = insert.key
        values = try table.converted(insert.row)
    }

    var reference: ObjectReference { ObjectReference(entityIndex: table.index, key: key) }
}

/// An update with its values converted to the types of the columns.
struct UpdateValues {
    let table: EntityTable
    let key: UInt64
    /// The version of the row after the save.
    let nextVersion: UInt32
    let mask: PropertyMask
    /// Indexed by property index; nil for unchanged properties.
    let values: [PropertyValue?]

    /// Makes an update from converted values.
    init(table: EntityTable, key: UInt64, version: UInt32, mask: PropertyMask, values: [PropertyValue?]) {
        self.table = table
        self.key = key
        nextVersion = EntityTable.version(after: version)
        self.mask = mask
        self.values = values
    }

    init(_ update: ChangeSet.Update, table: EntityTable, keepsVersion: Bool = false) throws {
        self.table = table
        key = update.key
        nextVersion = keepsVersion ? update.expectedVersion : EntityTable.version(after: update.expectedVersion)
        mask = PropertyMask(update.values.lazy.map { $0.0.index })
        values = try table.converted(update.values)
    }

    var reference: ObjectReference { ObjectReference(entityIndex: table.index, key: key) }

    func changes(_ index: ValueIndex) -> Bool { index.properties.contains { mask.contains($0.index) } }
}

/// A reusable row buffer for each table and a buffer for keys. One execution uses it at a time. Its fields skip the check of exclusive access: no method
/// lends one to other code.
final class RowBuffers {
    @safe @exclusivity(unchecked) private var buffers: [RowBuffer?]
    /// The rows that `recycle` has received, by table.
    @safe @exclusivity(unchecked) private var recycled: [[RowBuffer]]
    /// The buffer for the keys of index entries.
    @safe @exclusivity(unchecked) fileprivate var key = IndexKey()

    init(_ schema: Schema) {
        buffers = Array(repeating: nil, count: schema.tables.count)
        recycled = Array(repeating: [], count: schema.tables.count)
    }

    /// An empty row of a table for an update. `recycle` returns it after the write.
    func take(of table: EntityTable, in transaction: WriteTransaction) throws(EngineError) -> RowBuffer {
        guard let row = recycled[Int(table.index)].popLast() else { return RowBuffer(layout: try transaction.table(table.tree).layout) }
        row.reset()
        return row
    }

    func recycle(_ row: RowBuffer, of table: EntityTable) { recycled[Int(table.index)].append(row) }

    /// An empty row of a table.
    func buffer(of table: EntityTable, in transaction: WriteTransaction) throws(EngineError) -> RowBuffer {
        if let buffer = buffers[Int(table.index)] {
            buffer.reset()
            return buffer
        }
        let buffer = RowBuffer(layout: try transaction.table(table.tree).layout)
        buffers[Int(table.index)] = buffer
        return buffer
    }
}

extension EntityTable {
    /// A new row's values converted to the types of the columns; most need no conversion.
    func converted(_ row: [PropertyValue]) throws -> [PropertyValue] {
        if row.indices.allSatisfy({ unsafe cells[$0].holds(row[$0]) }) { return row }
        var row = row
        for index in row.indices {
            guard let column = columns[index], column.property.isAttribute else { continue }
            row[index] = try column.property.coerced(row[index])
        }
        return row
    }

    /// Values by property index, converted to the types of the columns.
    func converted(_ values: [(PropertyDescription, PropertyValue)]) throws -> [PropertyValue?] {
        // The initialiser of an array that repeats a value is not specialised: it looks up its type at each call.
        var slots: [PropertyValue?] = columns.map { _ in nil }
        for (property, value) in values {
            assert(slots.indices.contains(property.index), "A value belongs to a property of its entity.")
            let isConverted = unsafe cells[property.index].holds(value) || !property.isAttribute
            slots[property.index] = isConverted ? value : try property.coerced(value)
        }
        return slots
    }
}
