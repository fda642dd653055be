internal import HornbeamEngine
internal import HornbeamModel

/// Reads rows of a transaction, and keeps the view of the table that was read last. A change of the table makes it invalid.
final class TransactionRows {
    private let transaction: WriteTransaction
    private var last: TableOfTransaction?

    init(_ transaction: WriteTransaction) { self.transaction = transaction }

    /// A class, because a copy of a view changes several reference counts.
    final class TableOfTransaction {
        fileprivate let tree: TreeID
        let view: TableView

        fileprivate init(_ tree: TreeID, _ view: TableView) {
            self.tree = tree
            self.view = view
        }
    }

    func table(_ table: EntityTable) throws(EngineError) -> TableOfTransaction {
        if let last, last.tree == table.tree { return last }
        let read = TableOfTransaction(table.tree, try transaction.table(table.tree))
        last = read
        return read
    }
}

/// The checks before the first write: versions, then unique values.
extension SaveExecution {
    // MARK: Versions

    func checkVersions() throws {
        var conflicts = SaveConflicts()
        let rows = TransactionRows(transaction)
        func check(_ entity: EntityDescription, _ key: UInt64, _ expected: UInt32) throws {
            let table = schema.table(entity)
            let stored = try Self.version(of: key, in: try rows.table(table).view)
            if stored != expected { try addConflict(ObjectReference(entityIndex: table.index, key: key), expected, stored, &conflicts) }
        }
        for update in changes.updates { try check(update.entity, update.key, update.expectedVersion) }
        for delete in changes.deletes { try check(delete.entity, delete.key, delete.expectedVersion) }
        for object in changes.checks { try check(object.entity, object.key, object.expectedVersion) }
        guard conflicts.isEmpty else { throw conflicts }
    }

    /// Prepares a few updates, and throws all version conflicts together, like `checkVersions`.
    func prepareComparingVersions(_ updates: [UpdateValues]) throws -> [PreparedUpdate] {
        assert(changes.deletes.isEmpty, "A deletion changes rows before the updates are prepared.")
        var conflicts = SaveConflicts()
        let rows = TransactionRows(transaction)
        var prepared: [PreparedUpdate] = []
        prepared.reserveCapacity(updates.count)
        for (update, change) in zip(updates, changes.updates) {
            let ready = try prepare(update, rows)
            if ready.storedVersion != change.expectedVersion { try addConflict(update.reference, change.expectedVersion, ready.storedVersion, &conflicts) }
            prepared.append(ready)
        }
        for object in changes.checks {
            let table = schema.table(object.entity)
            let stored = try Self.version(of: object.key, in: try rows.table(table).view)
            if stored == object.expectedVersion { continue }
            try addConflict(ObjectReference(entityIndex: table.index, key: object.key), object.expectedVersion, stored, &conflicts)
        }
        guard conflicts.isEmpty else { throw conflicts }
        return prepared
    }

    private func addConflict(_ object: ObjectReference, _ expected: UInt32, _ stored: UInt32, _ conflicts: inout SaveConflicts) throws {
        conflicts.versions.append(
            VersionConflict(
                reference: object, objectID: reader.origins.objectID(object), expectedVersion: expected,
                storedVersion: stored, storedValues: stored == 0 ? nil : try values(of: object.key, in: schema.table(at: object.entityIndex))))
    }

    private func version(of key: UInt64, in table: EntityTable) throws(EngineError) -> UInt32 {
        try Self.version(of: key, in: try transaction.table(table.tree))
    }

    /// 0 when there is no row.
    private static func version(of key: UInt64, in rows: TableView) throws(EngineError) -> UInt32 {
        try rows.withRow(key) { (row) throws(EngineError) -> UInt32 in row.load(EntityTable.versionColumn, as: UInt32.self) } ?? 0
    }

    private func values(of key: UInt64, in table: EntityTable) throws(EngineError) -> [PropertyValue]? {
        try transaction.table(table.tree).withRow(key) { (row) throws(EngineError) -> [PropertyValue] in
            try reader.values(of: row, in: table)
        }
    }

    // MARK: Unique values

    /// Removes the unique keys of changed and deleted rows before it adds the new ones, so that two objects can exchange their values.
    ///
    /// Keys of updates with derived attributes are only removed. `updateDerivedValues` adds them, from `keysToDerive`.
    func claimUniqueKeys(_ updates: [UpdateValues], _ inserts: [InsertValues] = []) throws {
        guard hasUniqueIndexes(updates, inserts) else { return }
        var claims = UniqueClaims()
        assert(change.inserted.isEmpty && change.deleted.isEmpty, "Unique values are checked before the first row is written.")
        for delete in changes.onlyInserts ? [] : changes.deletes {
            let table = schema.table(delete.entity)
            for index in table.indexes where index.isUnique { try release(index, delete.key, table) }
        }
        for update in updates {
            for index in update.table.indexes where index.isUnique && update.changes(index) {
                try release(index, update.key, update.table)
            }
        }
        for update in updates { try claim(update, &claims) }
        if inserts.count < Self.sortedClaimsMin {
            for insert in inserts { try claim(insert, &claims) }
        } else {
            try claimInOrder(inserts, &claims)
        }
        let conflicts = try claims.conflicts(of: self, updates, inserts)
        guard conflicts.isEmpty else { throw conflicts }
    }

    private func hasUniqueIndexes(_ updates: [UpdateValues], _ inserts: [InsertValues]) -> Bool {
        updates.contains { $0.table.hasUniqueIndexes } || inserts.contains { $0.table.hasUniqueIndexes }
            || !changes.onlyInserts && changes.deletes.contains { schema.table($0.entity).hasUniqueIndexes }
    }

    /// From this number of inserts on, unique keys are inserted in key order, so that neighbouring keys change their leaf once.
    private static let sortedClaimsMin = 256

    private func claimInOrder(_ inserts: [InsertValues], _ claims: inout UniqueClaims) throws {
        var runs: [(index: ValueIndex, entries: EntryRun)] = []
        for insert in inserts {
            for index in insert.table.indexes where index.isUnique {
                index.fill(&key, from: insert.values)
                if key.hasNull { continue }
                if key.isTruncated {
                    try claim(index, for: insert.reference, &claims)
                    continue
                }
                let place = runs.firstIndex { $0.index === index } ?? runs.count
                if place == runs.count { runs.append((index, EntryRun())) }
                runs[place].entries.append(key.bytes, insert.reference)
            }
        }
        for (index, gathered) in runs {
            var entries = gathered
            unsafe try entries.forEachSorted { (key, object) throws(EngineError) in
                if let holder = unsafe try UniqueKeys.claim(index, whole: key, for: object, in: transaction, schema: schema), holder != object {
                    unsafe claims.addConflict(index, [UInt8](key), object, with: holder)
                }
            }
        }
        claims.restoreOrder(of: inserts.map(\.reference))
    }

    /// Adds the unique key of a stored row, if there is one. Returns the object that has the key already.
    func claim(_ index: ValueIndex, _ objectKey: UInt64, _ table: EntityTable) throws -> ObjectReference? {
        let filled: Void? = try transaction.table(table.tree).withRow(objectKey) { (row) throws(EngineError) in
            try index.fill(&key, from: row, of: table)
        }
        guard filled != nil, !key.hasNull else { return nil }
        if key.isTruncated { try recordTruncatedKey(of: index) }
        return try UniqueKeys.claim(index, &key, for: ObjectReference(entityIndex: table.index, key: objectKey), in: transaction, schema: schema)
    }

    /// Removes the unique key of a stored row, if there is one.
    func release(_ index: ValueIndex, _ objectKey: UInt64, _ table: EntityTable) throws(EngineError) {
        let filled: Void? = try transaction.table(table.tree).withRow(objectKey) { (row) throws(EngineError) in
            try index.fill(&key, from: row, of: table)
        }
        guard filled != nil, !key.hasNull else { return }
        assert(index.isUnique, "Only unique keys are released.")
        // A row of the cache may lack its entry, and another row that was read earlier may have the value. A row whose derived values are computed later
        // has no entry, and another row may have the value.
        let mayBelongToOther = !reader.hasAllRows || index.properties.contains(where: \.isDerived)
        if mayBelongToOther, let holder = try UniqueKeys.holder(of: key, index, in: transaction, schema: schema), holder.key != objectKey { return }
        if key.isTruncated { key.append(objectKey: objectKey) }
        _ = try transaction.delete(key.bytes, from: index.tree)
    }

    private func claim(_ update: UpdateValues, _ claims: inout UniqueClaims) throws {
        let table = update.table
        for index in table.indexes where index.isUnique && update.changes(index) {
            if index.properties.contains(where: \.isDerived) {
                keysToDerive.append((index, update.reference))
                continue
            }
            try transaction.table(table.tree).withRow(update.key) { (row) throws(EngineError) in
                try index.fill(&key, from: row, of: table, changes: update.values)
            }
            try claim(index, for: update.reference, &claims)
        }
    }

    private func claim(_ insert: InsertValues, _ claims: inout UniqueClaims) throws {
        for index in insert.table.indexes where index.isUnique {
            index.fill(&key, from: insert.values)
            try claim(index, for: insert.reference, &claims)
        }
    }

    /// Adds the entry of `key`, or records a conflict if another object has it.
    private func claim(_ index: ValueIndex, for object: ObjectReference, _ claims: inout UniqueClaims) throws {
        assert(index.isUnique && object.key != 0, "Unique keys belong to stored objects.")
        guard !key.hasNull else { return }
        if key.isTruncated { try recordTruncatedKey(of: index) }
        // A cached row may have some of its entries.
        if let holder = try UniqueKeys.claim(index, &key, for: object, in: transaction, schema: schema), holder != object {
            claims.addConflict(index, key.bytes, object, with: holder)
        }
    }

    /// The stored values of an object, for the report of a conflict.
    func stored(_ object: ObjectReference) throws -> RowValues? {
        let table = schema.table(at: object.entityIndex)
        guard let values = try values(of: object.key, in: table) else { return nil }
        return RowValues(version: try version(of: object.key, in: table), values: values)
    }
}
