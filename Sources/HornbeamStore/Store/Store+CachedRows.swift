internal import HornbeamModel

// Puts rows of a custom store into the cache in memory, and publishes the differences like saves of another process.

extension Store {
    /// Inserts or updates `rows` in the cache, and deletes the rows of `gone`.
    func updateCache(_ rows: [CustomStoreRow], without gone: [ObjectReference] = []) throws {
        var last: SaveConflicts?
        for _ in 0 ..< 10 {
            let difference = try RowDifference(rows, gone, self)
            if difference.changes.isEmpty { return }
            do {
                _ = try write(difference.changes, forwarding: false)
                return
            } catch let conflicts as SaveConflicts {
                if !conflicts.uniques.isEmpty { throw conflicts.error }
                last = conflicts
            }
        }
        if let last { throw last.error }
    }
}

/// The changes that make the cached rows equal to those of a custom store.
private struct RowDifference {
    private(set) var changes = ChangeSet()
    private let store: Store
    private let snapshot: StoreSnapshot

    init(_ rows: [CustomStoreRow], _ gone: [ObjectReference], _ store: Store) throws {
        self.store = store
        snapshot = try store.snapshot()
        for row in rows { try add(row) }
        for reference in gone {
            let entity = store.model.entities[Int(reference.entityIndex)]
            guard let present = try snapshot.values(entity, reference.key) else { continue }
            changes.deletes.append(.init(entity: entity, key: reference.key, expectedVersion: present.version))
        }
    }

    private mutating func add(_ row: CustomStoreRow) throws {
        let entity = try store.model.entity(named: row.object.entityName)
        try checkKey(row.object)
        let values = try self.values(of: row, entity)
        if let present = try snapshot.values(entity, row.object.key) {
            let changed = values.filter { present.values[$0.0.index] != $0.1 }
            if !changed.isEmpty {
                changes.updates.append(
                    .init(entity: entity, key: row.object.key, expectedVersion: present.version, values: changed))
            }
        } else {
            changes.inserts.append(.init(entity: entity, key: row.object.key, values: values))
        }
        for (name, members) in row.members.sorted(by: { $0.key < $1.key }) { try add(members, name, entity, row.object) }
    }

    private func checkKey(_ object: CustomStoreKey) throws {
        guard object.key == 0 || object.key >= 1 << 48 else { return }
        throw HornbeamError(
            .storeOperationFailed, "The custom store returned the key \(object.key) for an object of \(object.entityName). Keys must be "
                + "positive and less than 2⁴⁸.",
            entity: object.entityName)
    }

    private func values(
        of row: CustomStoreRow, _ entity: EntityDescription
    ) throws -> [(PropertyDescription, PropertyValue)] {
        for name in Array(row.values.keys) + row.destinations.keys { _ = try entity.property(named: name) }
        return try entity.properties.compactMap { property in
            guard !property.isToMany, !property.isTransient, !property.isDerived else { return nil }
            if property.isRelationship {
                guard let target = row.destinations[property.name] else { return (property, .null) }
                return (property, .objectID(store.objectID(try reference(target))))
            }
            return (property, try property.coerced(row.values[property.name] ?? .null))
        }
    }

    private func reference(_ object: CustomStoreKey) throws -> ObjectReference {
        ObjectReference(try store.model.entity(named: object.entityName), object.key)
    }

    private mutating func add(
        _ members: [CustomStoreKey], _ name: String, _ entity: EntityDescription, _ owner: CustomStoreKey
    ) throws {
        let property = try entity.property(named: name)
        let wanted = try members.map(reference)
        let present = try snapshot.members(of: property, owner: owner.key)
        guard present != wanted else { return }
        var link = ChangeSet.Link(relationship: property, owner: ObjectReference(entity, owner.key))
        let followsToOne = property.inverse.map { !$0.isToMany } ?? false
        if !followsToOne {
            let (before, after) = (Set(present), Set(wanted))
            link.added = wanted.filter { !before.contains($0) }
            link.removed = present.filter { !after.contains($0) }
        }
        if property.isOrdered { link.order = wanted }
        if !link.added.isEmpty || !link.removed.isEmpty || link.order != nil { changes.links.append(link) }
    }
}
