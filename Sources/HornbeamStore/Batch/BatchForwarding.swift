internal import HornbeamEngine
internal import HornbeamModel

// A batch on a querying store is executed on the cached rows, and its changes are written into the querying store before the commit of the cache.

extension Store {
    /// Writes the changes of a batch into the querying store, if there is one. Call it directly before the commit of the transaction.
    ///
    /// - Throws: `CustomStoreConflict` if rows have changed meanwhile; `objectNotFound` if the batch refers to an object that does not exist. Nothing is
    ///   written then.
    func forwardBatch(_ change: StoreChange, in transaction: WriteTransaction) throws -> CustomStoreChanges? {
        guard isQuerying, let backing, !change.isEmpty else { return nil }
        var forwarding = BatchForwarding(self, transaction, try snapshot())
        var changes = try forwarding.changes(change)
        changes.history = try historyEntry(change)
        do { try backing.custom.save(changes) } catch let doubt as CustomStoreDoubt { throw doubt.error } catch let conflict as CustomStoreConflict {
            try requireDestinations(
                conflict, own: Set((changes.updated.map(\.object) + changes.deleted).map(\.key)),
                "The batch refers to an object of %@ that does not exist. Nothing was written. Set the relationship to another object.")
            throw conflict
        } catch var violation as CustomStoreViolation {
            // New rows of a batch have no IDs yet.
            let new = Set(changes.inserted.map(\.object))
            violation.objects.removeAll { new.contains($0) }
            throw try refusal(violation)
        }
        return changes
    }

    /// Runs a batch. If the querying store refuses its changes, the newest rows are cached, and the batch is executed again.
    ///
    /// - Parameter load: Caches the rows that the batch reads.
    func repeatingBatch<Result>(loading load: () throws -> Void, _ body: () throws -> Result) throws -> Result {
        guard let backing, isQuerying else { return try body() }
        for _ in 0 ..< Self.refusalsMax {
            try load()
            let result: Result? = try backing.saving(isCancellable: true) {
                do { return try body() } catch let conflict as CustomStoreConflict {
                    try updateCache(conflict.rows, without: try conflict.deleted.map(reference))
                    // The batch then reads the newest rows, also those that refer to objects which it deletes.
                    return nil
                }
            }
            if let result { return result }
        }
        throw refusedTooOften
    }
}

/// Reads the changes of a batch from its transaction.
private struct BatchForwarding {
    private let store: Store
    private let transaction: WriteTransaction
    private let base: StoreSnapshot

    init(_ store: Store, _ transaction: WriteTransaction, _ base: StoreSnapshot) {
        self.store = store
        self.transaction = transaction
        self.base = base
    }

    mutating func changes(_ change: StoreChange) throws -> CustomStoreChanges {
        var result = CustomStoreChanges()
        result.author = change.author
        result.contextName = change.contextName
        for object in change.inserted {
            guard let values = try values(of: object) else { continue }
            let columns = entity(object).properties.filter(\.isForwarded)
            result.inserted.append(CustomStoreChanges.row(store.customKey(object), columns.map { ($0, values[$0.index]) }).row)
            try addMembers(of: object, PropertyMask(entity(object).properties.map(\.index)), &result)
        }
        for updated in change.updated {
            let object = updated.reference
            try addMembers(of: object, updated.properties, &result)
            let columns = entity(object).properties.filter { $0.isForwarded && updated.properties.contains($0.index) }
            guard !columns.isEmpty, let values = try values(of: object) else { continue }
            let (row, cleared) = CustomStoreChanges.row(store.customKey(object), columns.map { ($0, values[$0.index]) })
            result.updated.append(row)
            if !cleared.isEmpty { result.cleared[row.object] = cleared }
        }
        result.deleted = change.deleted.map(store.customKey)
        result.versions = store.backing?.versions(of: result.updated.map(\.object) + result.deleted) ?? [:]
        return result
    }

    private func entity(_ object: ObjectReference) -> EntityDescription { store.model.entities[Int(object.entityIndex)] }

    private func values(of object: ObjectReference) throws -> [PropertyValue]? {
        let table = store.schema.table(at: object.entityIndex)
        return try EngineError.translated { () throws(EngineError) in
            try transaction.table(table.tree).withRow(object.key) { (row) throws(EngineError) in try store.reader.values(of: row, in: table) }
        }
    }

    /// Compares the members before the batch with those after it. Members that a to-one refers to change with the rows of the members.
    private func addMembers(of object: ObjectReference, _ mask: PropertyMask, _ result: inout CustomStoreChanges) throws {
        for property in entity(object).properties where property.isToMany && !property.isTransient && mask.contains(property.index) {
            let followsToOne = property.inverse?.isToOne ?? false
            if followsToOne && !property.isOrdered { continue }
            let before = try base.members(of: property, owner: object.key)
            let after = try EngineError.translated { () throws(EngineError) in
                try MemberReader(store.schema.link(property).forward, schema: store.schema) { (tree) throws(EngineError) in
                    try transaction.index(tree)
                }.references(owner: object.key)
            }
            if before == after { continue }
            var members = CustomStoreChanges.Members(owner: store.customKey(object), relationship: property.name)
            if !followsToOne {
                let (old, new) = (Set(before), Set(after))
                members.added = after.filter { !old.contains($0) }.map(store.customKey)
                members.removed = before.filter { !new.contains($0) }.map(store.customKey)
            }
            if property.isOrdered { members.order = after.map(store.customKey) }
            result.members.append(members)
        }
    }
}
