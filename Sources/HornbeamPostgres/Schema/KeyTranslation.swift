#if Postgres
internal import HornbeamModel

// The keys of objects in existing tables.
//
// Keys are unique in a store, and those of existing tables are unique in a table. Each existing table therefore has a number, which the store keeps. A key of
// Hornbeam has it above the 40 bits of the row's own key. Inside HornbeamPostgres, keys are those of rows ("inner"); the public methods translate them.

extension StoreLayout {
    /// The largest key of a row in an existing table, and of rows in the store's own tables beside existing ones.
    static let rowKeyMax: UInt64 = 1 << 40 - 1
    /// The largest key of a row in the store's own tables. Hornbeam has the store of an object above these bits.
    static let keyMax: UInt64 = 1 << 48 - 1
    /// The largest number of existing tables.
    static let mappedTablesMax = 255

    /// The difference of a key of Hornbeam and the key of a row.
    func offset(of table: TableLayout) -> UInt64 { tableNumbers[table.name].map { $0 << 40 } ?? 0 }

    /// Refuses numbers that are no keys: with a larger one, an object would have the key of an object in another table or store.
    ///
    /// - Parameter place: The column or relationship with the number, for the error.
    /// - Throws: `storeOperationFailed`.
    func requireKey(_ number: Int64, of entityName: String, in place: @autoclosure () -> String) throws {
        if number > 0 && number <= Int64(Self.rowKeyMax) { return }
        let max = try table(of: entityName).isMapped ? Self.rowKeyMax : Self.keyMax
        if number > 0 && number <= Int64(max) { return }
        throw HornbeamError(
            .storeOperationFailed, "\(place()) in PostgreSQL has a number that is no key of \(entityName). Keys are from 1 to \(max).", entity: entityName)
    }

    /// A key of Hornbeam for a key of a row.
    func outer(_ key: CustomStoreKey) -> CustomStoreKey {
        guard let table = try? table(of: key.entityName), table.isMapped else { return key }
        return CustomStoreKey(key.entityName, key.key | offset(of: table))
    }

    /// The key of a row for a key of Hornbeam.
    func inner(_ key: CustomStoreKey) -> CustomStoreKey {
        guard let table = try? table(of: key.entityName), table.isMapped else { return key }
        return CustomStoreKey(key.entityName, key.key & Self.rowKeyMax)
    }

    /// The key of a row for a key of Hornbeam; nil for a row in another table.
    func inner(_ key: UInt64, in table: TableLayout) -> UInt64? {
        let offset = offset(of: table)
        guard hasMappedTables else { return key }
        return key & ~Self.rowKeyMax == offset ? key - offset : nil
    }

    func outer(_ rows: [CustomStoreRow]) -> [CustomStoreRow] { hasMappedTables ? rows.map { translated($0, outer) } : rows }

    private func translated(_ row: CustomStoreRow, _ key: (CustomStoreKey) -> CustomStoreKey) -> CustomStoreRow {
        var row = row
        row.object = key(row.object)
        row.destinations = row.destinations.mapValues(key)
        row.members = row.members.mapValues { $0.map(key) }
        return row
    }

    /// The changes of a save with the keys of rows.
    func inner(_ changes: CustomStoreChanges) -> CustomStoreChanges {
        guard hasMappedTables else { return changes }
        var result = changes
        result.inserted = changes.inserted.map { translated($0, inner) }
        result.updated = changes.updated.map { translated($0, inner) }
        result.cleared = Dictionary(changes.cleared.map { (inner($0.key), $0.value) }) { first, _ in first }
        result.deleted = changes.deleted.map(inner)
        result.members = changes.members.map { change in
            CustomStoreChanges.Members(
                owner: inner(change.owner), relationship: change.relationship, added: change.added.map(inner), removed: change.removed.map(inner),
                order: change.order?.map(inner))
        }
        result.versions = Dictionary(changes.versions.map { (inner($0.key), $0.value) }) { first, _ in first }
        result.checked = changes.checked.map(inner)
        return result
    }

    func outer(_ conflict: CustomStoreConflict) -> CustomStoreConflict {
        guard hasMappedTables else { return conflict }
        var conflict = conflict
        conflict.rows = outer(conflict.rows)
        conflict.deleted = conflict.deleted.map(outer)
        conflict.referring = conflict.referring.map(outer)
        return conflict
    }

    /// Keys of rows by the name of their table.
    func keysByTable(_ keys: [CustomStoreKey]) -> [String: [UInt64]] {
        Dictionary(grouping: keys) { (try? table(of: $0.entityName).name) ?? "" }.mapValues { $0.map(\.key) }
    }
}

extension ManagedObjectID {
    var customKey: CustomStoreKey { CustomStoreKey(entityName, reference) }
}
#endif
