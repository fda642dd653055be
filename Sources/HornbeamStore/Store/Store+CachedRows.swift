internal import HornbeamModel
internal import HornbeamThreads

// Puts rows of a custom store into the cache in memory, and publishes the differences like saves of another process.

extension Store {
    /// Inserts or updates `rows` in the cache, and deletes the rows of `gone`.
    ///
    /// - Parameter announced: Changes of the custom store to publish with those of the cache.
    func updateCache(_ rows: [CustomStoreRow], without gone: [ObjectReference] = [], announcing announced: StoreChange? = nil) throws {
        let sources = try withDerivationSources(rows)
        var gone = gone
        var rows = try Self.merged(newest(backing?.unknown(sources) ?? sources, &gone))
        if rows.isEmpty && gone.isEmpty && announced == nil { return }
        var last: SaveConflicts?
        for _ in 0 ..< 10 {
            let difference = try RowDifference(rows, gone, self)
            do {
                if !difference.changes.isEmpty || announced != nil {
                    _ = try write(difference.changes, forwarding: false, announcing: announced)
                }
                backing?.setVersions(rows, without: gone.map(\.key))
                return
            } catch let conflicts as SaveConflicts {
                if !conflicts.uniques.isEmpty, try !addHolders(in: conflicts, to: &rows, &gone) { throw conflicts.error }
                last = conflicts
            }
        }
        if let last { throw last.error }
    }

    /// The rows, with the newest ones of objects whose cached rows have later versions. Either another read has overtaken this one, or an object was deleted
    /// and made again.
    private func newest(_ rows: [CustomStoreRow], _ gone: inout [ObjectReference]) throws -> [CustomStoreRow] {
        guard let backing, let querying = backing.querying else { return rows }
        let outdated = backing.outdated(rows)
        if outdated.isEmpty { return rows }
        if let state = backing.oneState.current {
            // With all saves and other reads waiting, the cache is not newer than the state.
            if state.saveCount == nil { return rows }
            throw StoreBacking.NewerCache()
        }
        let found = try querying.rows(for: .objects(Array(outdated)))
        let present = Set(found.map(\.object.key))
        gone += try outdated.filter { !present.contains($0.key) }.map(reference)
        return rows.filter { !outdated.contains($0.object) } + found
    }

    /// The rows, with one for each object: the newest one, with the members of all.
    private static func merged(_ rows: [CustomStoreRow]) -> [CustomStoreRow] {
        var places: [UInt64: Int] = [:]
        var result: [CustomStoreRow] = []
        for row in rows {
            guard let place = places[row.object.key] else {
                places[row.object.key] = result.count
                result.append(row)
                continue
            }
            var newest = row.version ?? 0 >= result[place].version ?? 0 ? row : result[place]
            newest.members = result[place].members.merging(row.members) { $1 }
            result[place] = newest
        }
        return result
    }

    /// Reads the newest rows of the objects that have a unique value in the cache, and perhaps no longer in the querying store. Returns false
    /// if there are none.
    private func addHolders(
        in conflicts: SaveConflicts, to rows: inout [CustomStoreRow], _ gone: inout [ObjectReference]
    ) throws -> Bool {
        guard let querying = backing?.querying else { return false }
        let given = Set(rows.map(\.object.key) + gone.map(\.key))
        let holders = Set(conflicts.uniques.compactMap(\.existing)).filter { !given.contains($0.key) }
        if holders.isEmpty { return false }
        let found = try querying.rows(for: .objects(holders.map(customKey)))
        let present = Set(found.map(\.object.key))
        rows = Self.merged(rows + found)
        gone += holders.filter { !present.contains($0.key) }
        return true
    }
}

/// The changes that make the cached rows equal to those of a custom store.
private struct RowDifference {
    private(set) var changes = ChangeSet()
    private let store: Store
    private let snapshot: StoreSnapshot
    /// The keys of the cached rows that may lack index entries, which they get now.
    private let withoutEntries: Set<UInt64>

    init(_ rows: [CustomStoreRow], _ gone: [ObjectReference], _ store: Store) throws {
        self.store = store
        snapshot = try store.snapshot()
        withoutEntries = store.backing?.keysWithoutEntries(rows) ?? []
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
            if withoutEntries.contains(row.object.key) {
                var insert = ChangeSet.Insert(entity: entity, key: row.object.key, values: values)
                insert.cachedVersion = changed.isEmpty ? present.version : EntityTable.version(after: present.version)
                changes.inserts.append(insert)
            }
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
                return (property, .objectID(store.objectID(try store.reference(target))))
            }
            return (property, try property.coerced(row.values[property.name] ?? .null))
        }
    }

    private mutating func add(
        _ members: [CustomStoreKey], _ name: String, _ entity: EntityDescription, _ owner: CustomStoreKey
    ) throws {
        let property = try entity.property(named: name)
        let wanted = try members.map(store.reference)
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
