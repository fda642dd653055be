internal import HornbeamModel

extension CustomStoreChanges {
    /// Converts a change set into the form that custom stores receive.
    init(_ changes: ChangeSet, _ store: Store) {
        self.init()
        author = changes.author
        contextName = changes.contextName
        var new = CustomStoreTables(rowCount: changes.inserts.count)
        for insert in changes.inserts { new.append(insert.entity, key: insert.key, values: insert.row, store.entity(of:)) }
        insertedRows = .tables(new.tables)
        for update in changes.updates {
            let (row, empty) = Self.row(CustomStoreKey(update.entity.name, update.key), update.values)
            updated.append(row)
            if !empty.isEmpty { cleared[row.object] = empty }
        }
        deleted = changes.deletes.map { CustomStoreKey($0.entity.name, $0.key) }
        checked = changes.checks.map { CustomStoreKey($0.entity.name, $0.key) }
        if let backing = store.backing, backing.querying != nil {
            versions = backing.versions(of: updated.map(\.object) + deleted + checked)
        }
        members = changes.links.map { link in
            Members(
                owner: store.customKey(link.owner), relationship: link.relationship.name, added: link.added.map(store.customKey),
                removed: link.removed.map(store.customKey), order: link.order?.map(store.customKey))
        }
    }

    static func row(
        _ object: CustomStoreKey, _ values: [(PropertyDescription, PropertyValue)]
    ) -> (row: CustomStoreRow, cleared: [String]) {
        var row = CustomStoreRow(object)
        row.values.reserveCapacity(values.count)
        var cleared: [String] = []
        for (property, value) in values {
            guard property.isRelationship else {
                row.values[property.name] = value
                continue
            }
            if case .objectID(let id) = value {
                row.destinations[property.name] = CustomStoreKey(id.entityName, id.reference)
            } else {
                cleared.append(property.name)
            }
        }
        return (row, cleared)
    }
}

extension PropertyDescription {
    /// True for the properties of a custom store's rows, except to-many relationships.
    var isForwarded: Bool { !isToMany && !isTransient && !isDerived }
}
