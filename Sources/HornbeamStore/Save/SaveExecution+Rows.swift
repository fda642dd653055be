internal import HornbeamEngine
internal import HornbeamModel

/// Writes rows, with the index entries and the to-many members that their cells determine.
extension SaveExecution {
    // MARK: Insert

    func execute(_ insert: InsertValues) throws {
        let table = insert.table
        precondition(insert.key != 0, "An object is inserted under a key from reserveKeys, never 0.")
        let object = insert.reference
        let values = insert.values
        assert(oldEntries.isEmpty && newEntries.isEmpty, "The entries of one object are exchanged before the next.")
        let row = try buffer(table)
        row.set(EntityTable.versionColumn, insert.cachedVersion ?? 1)
        for index in values.indices where unsafe !table.cells[index].write(values[index], to: row) {
            guard let column = table.columns[index] else { continue }
            try column.write(values[index], to: row, schema: schema, origin: reader.origins)
        }
        let isNew = try transaction.put(row, key: insert.key, in: table.tree)
        precondition(isNew == (insert.cachedVersion == nil), "The key \(insert.key) of \(table.entity.name) is taken: a key is inserted once.")
        for index in table.indexes where !index.isUnique {
            index.fill(&key, from: values)
            if !key.isExcluded { try putEntry(index, object) }
        }
        for mirror in table.mirrors {
            let value = values[mirror.column.property.index]
            guard !value.isNull else { continue }
            let owner = try mirror.column.reference(value, schema: schema, origin: reader.origins)
            try addMember(object, owner, mirror)
        }
        if insert.cachedVersion == nil { change.inserted.append(object) }
    }

    // MARK: Update

    /// Reads the rows of some updates before it writes the first of them: a read of a tree with deferred changes would apply them.
    func execute(_ updates: [UpdateValues]) throws {
        var next = 0
        while next < updates.count {
            let end = min(next + Self.updatesPerRead, updates.count)
            let rows = TransactionRows(transaction)
            let prepared = try updates[next..<end].map { try prepare($0, rows) }
            for update in prepared { try write(update) }
            next = end
        }
    }

    /// The number of updates whose rows are read before the first of them is written.
    static let updatesPerRead = 8

    func execute(_ update: UpdateValues) throws { try write(try prepare(update, TransactionRows(transaction))) }

    /// An update with its new row, and the owners and index entries that its write removes and adds. A class, so that it is not copied.
    final class PreparedUpdate {
        let update: UpdateValues
        let row: RowBuffer
        /// The version of the row before the update; 0 if there is no row.
        var storedVersion: UInt32 = 0
        /// The old owners of the object by mirror; empty if the update changes no owner.
        var oldOwners: [ObjectReference?] = []
        var oldEntries: [(ValueIndex, [UInt8])] = []
        var newEntries: [(ValueIndex, IndexKey)] = []

        init(_ update: UpdateValues, _ row: RowBuffer) {
            self.update = update
            self.row = row
        }
    }

    func prepare(_ update: UpdateValues, _ rows: TransactionRows) throws -> PreparedUpdate {
        let table = update.table
        let values = update.values
        let row = try buffers.take(of: table, in: transaction)
        let prepared = PreparedUpdate(update, row)
        let changesOwners = table.mirrors.contains { update.mask.contains($0.column.property.index) }
        let stored = try rows.table(table)
        try stored.view.withRow(update.key) { (old) throws(EngineError) in
            prepared.storedVersion = old.load(EntityTable.versionColumn, as: UInt32.self)
            try row.copy(old, table: table)
            if changesOwners { prepared.oldOwners = table.mirrors.map { $0.column.reference(in: old, schema: schema) } }
            for index in table.indexes where !index.isUnique && update.changes(index) {
                try index.fill(&key, from: old, of: table)
                addOldEntry(index, update.key)
                try index.fill(&key, from: old, of: table, changes: values)
                if !key.isExcluded { newEntries.append((index, key)) }
            }
        }
        assert(prepared.oldOwners.isEmpty || prepared.oldOwners.count == table.mirrors.count, "Each to-one of the row has its old value.")
        row.set(EntityTable.versionColumn, update.nextVersion)
        for case let column? in table.columns {
            guard let value = values[column.property.index] else { continue }
            if !value.isNull, unsafe table.cells[column.property.index].write(value, to: row) { continue }
            try column.write(value, to: row, schema: schema, origin: reader.origins)
        }
        swap(&prepared.oldEntries, &oldEntries)
        swap(&prepared.newEntries, &newEntries)
        return prepared
    }

    func write(_ prepared: PreparedUpdate) throws {
        let update = prepared.update
        (oldEntries, newEntries) = (prepared.oldEntries, prepared.newEntries)
        try exchangeEntries(of: update.reference)
        try transaction.put(prepared.row, key: update.key, in: update.table.tree)
        buffers.recycle(prepared.row, of: update.table)
        try moveMemberships(update, update.values, prepared.oldOwners)
        note(update.reference, mask: update.mask)
    }

    /// Adds the entry with the components in `key` to `oldEntries`.
    private func addOldEntry(_ index: ValueIndex, _ objectKey: UInt64) {
        guard !key.isExcluded else { return }
        key.append(objectKey: objectKey)
        oldEntries.append((index, key.bytes))
    }

    private func exchangeEntries(of object: ObjectReference) throws {
        if oldEntries.isEmpty, newEntries.isEmpty { return }
        for (index, bytes) in oldEntries { _ = try transaction.delete(bytes, from: index.tree) }
        for (index, entry) in newEntries {
            key = entry
            try putEntry(index, object)
        }
        assert(Set(newEntries.map { $0.0.number }).count == newEntries.count, "A row has one entry in an index.")
        oldEntries.removeAll(keepingCapacity: true)
        newEntries.removeAll(keepingCapacity: true)
    }

    private func moveMemberships(
        _ update: UpdateValues, _ values: [PropertyValue?], _ oldOwners: [ObjectReference?]
    ) throws {
        for (mirror, old) in zip(update.table.mirrors, oldOwners) {
            guard let value = values[mirror.column.property.index] else { continue }
            let new = value.isNull
                ? nil : try mirror.column.reference(value, schema: schema, origin: reader.origins)
            if old == new { continue }
            if let old { try removeMember(update.reference, old, mirror) }
            if let new { try addMember(update.reference, new, mirror) }
        }
    }

    // MARK: Delete

    func execute(_ delete: ChangeSet.Delete) throws {
        let table = schema.table(delete.entity)
        let object = ObjectReference(entityIndex: table.index, key: delete.key)
        var owners: [ObjectReference?] = []
        try transaction.table(table.tree).withRow(delete.key) { (row) throws(EngineError) in
            if let values = try reader.history.preservedValues(of: row, in: table) { change.preserved[object] = values }
            for mirror in table.mirrors { owners.append(mirror.column.reference(in: row, schema: schema)) }
            for index in table.indexes where !index.isUnique {
                try index.fill(&key, from: row, of: table)
                addOldEntry(index, delete.key)
            }
        }
        try exchangeEntries(of: object)
        for (mirror, owner) in zip(table.mirrors, owners) {
            if let owner { try removeMember(object, owner, mirror) }
        }
        for (other, property) in try members().unlinkAll(of: object, in: table) { note(other, property: property) }
        _ = try transaction.delete(delete.key, from: table.tree)
        assert(oldEntries.isEmpty && newEntries.isEmpty, "The entries of a deleted row are removed.")
        change.deleted.append(object)
    }

    // MARK: Entries

    /// Adds the entry with the components in `key`.
    private func putEntry(_ index: ValueIndex, _ object: ObjectReference) throws(EngineError) {
        assert(!key.isExcluded && !index.isUnique, "Unique keys are claimed before rows are written.")
        if key.isTruncated { try recordTruncatedKey(of: index) }
        key.append(objectKey: object.key)
        let value = index.isPolymorphic ? EntityNumber.bytes(schema.table(at: object.entityIndex).number) : []
        try transaction.put(key.bytes, value, in: index.tree)
    }

    /// Records in the store that an index contains truncated keys.
    func recordTruncatedKey(of index: ValueIndex) throws(EngineError) {
        guard try transaction.value(index.truncatedKeysName) == nil else { return }
        try transaction.setValue(index.truncatedKeysName, [1])
    }

    private func addMember(_ object: ObjectReference, _ owner: ObjectReference, _ mirror: EntityTable.Mirror) throws(EngineError) {
        try members().add(object, to: owner.key, mirror.link.forward)
        note(owner, property: mirror.link.relationship.index)
    }

    private func removeMember(_ object: ObjectReference, _ owner: ObjectReference, _ mirror: EntityTable.Mirror) throws(EngineError) {
        try members().remove(object.key, from: owner.key, mirror.link.forward)
        note(owner, property: mirror.link.relationship.index)
    }

    // MARK: Links

    /// Omits links to objects that another save deleted, because the delete rule nullify would have removed them.
    func execute(_ link: ChangeSet.Link) throws {
        let index = schema.link(link.relationship)
        let writer = members()
        let inverse = link.relationship.inverse
        assert(link.relationship.isToMany, "Members belong to a to-many relationship.")
        if index.kind != .mirror {
            for member in link.removed {
                try writer.unlink(index, owner: link.owner.key, member: member.key)
                if let inverse { note(member, property: inverse.index) }
            }
            for member in link.added {
                try checkMember(member, of: link.relationship)
                guard try rowExists(member) else { continue }
                try writer.link(index, owner: link.owner, member: member)
                if let inverse { note(member, property: inverse.index) }
            }
        }
        if let order = link.order, index.order != nil {
            try writer.reorder(order, owner: link.owner.key, index.forward)
        }
        note(link.owner, property: link.relationship.index)
    }

    /// False for an object without a row. Always true when some rows of a custom store may not be cached.
    func rowExists(_ object: ObjectReference) throws(EngineError) -> Bool {
        guard checksMembers else { return true }
        return try transaction.table(schema.table(at: object.entityIndex).tree).contains(object.key)
    }

    private func checkMember(_ member: ObjectReference, of relationship: PropertyDescription) throws {
        let entity = schema.model.entities[Int(member.entityIndex)]
        guard let destination = relationship.destinationEntity, entity.isKind(of: destination) else {
            throw HornbeamError(
                .typeMismatch,
                "“\(relationship.entity.name).\(relationship.name)” holds objects of "
                    + "\(relationship.destinationEntity?.name ?? "another entity"), and one of \(entity.name) was given.",
                entity: relationship.entity.name, key: relationship.name)
        }
    }
}

extension RowBuffer {
    /// Copies all cells of a stored row.
    func copy(_ row: RowView, table: EntityTable) throws(EngineError) {
        for (column, description) in table.layout.columns.enumerated() { try copy(row, column, description.kind) }
    }

    /// Copies one cell of a stored row.
    func copy(_ row: RowView, _ column: Int, _ kind: ColumnKind) throws(EngineError) {
        if row.isNull(column) { return setNull(column) }
        switch kind {
        case .bit: setBit(column, row.bit(column))
        case .fixed1: set(column, row.load(column, as: UInt8.self))
        case .fixed2: set(column, row.load(column, as: UInt16.self))
        case .fixed4: set(column, row.load(column, as: UInt32.self))
        case .fixed8: set(column, row.load(column, as: UInt64.self))
        case .fixed16: set(column, row.load(column, as: UUIDBytes.self))
        case .bytes: unsafe try row.withBytes(column) { unsafe setBytes(column, $0) }
        }
    }
}

/// Sixteen bytes in the format of a cell.
private struct UUIDBytes: BitwiseCopyable {
    var first: UInt64 = 0
    var second: UInt64 = 0
}
