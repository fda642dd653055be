internal import HornbeamModel

/// Derived attributes that keep their expression, and read values that the migration changes.
extension MigrationDraft {
    func isStale(_ property: PropertyDescription, in entity: EntityDescription) -> Bool {
        switch property.derivation {
        case nil, .now?: false
        case .value(let path)?, .text(_, let path)?: changes(path[...], in: entity)
        case .count(let relationship)?: changesMembers(relationship, of: entity)
        case .aggregate(_, let relationship, let attribute)?:
            changesMembers(relationship, of: entity)
                || destinations(of: relationship, in: entity).contains { changesCells(attribute, of: $0) }
        }
    }

    /// True when a value at the end of a path of to-one relationships may change.
    private func changes(_ path: ArraySlice<String>, in entity: EntityDescription) -> Bool {
        guard let name = path.first else { return false }
        if changesCells(name, of: entity) { return true }
        return path.count > 1 && destinations(of: name, in: entity).contains { changes(path.dropFirst(), in: $0) }
    }

    private func destinations(of relationship: String, in entity: EntityDescription) -> [EntityDescription] {
        entity.propertiesByName[relationship]?.destinationEntity?.concreteDescendants ?? []
    }

    /// True when rows of an entity have other values in a property than in the property of that name before.
    private func changesCells(_ name: String, of entity: EntityDescription) -> Bool {
        guard let step = tables.first(where: { $0.entity === entity }), step.rowCount > 0 else { return false }
        guard let column = step.columns.first(where: { $0.property.name == name }), case .column(_, let old) = column.source else { return true }
        return old.name != name || !column.isUnchanged(asNumber: column.stored.number)
    }

    private func changesMembers(_ relationship: String, of entity: EntityDescription) -> Bool {
        guard let property = entity.propertiesByName[relationship], let link = links.first(where: { $0.relationship === property }) else { return true }
        return link.isBuilt || link.old?.name != relationship
    }
}
