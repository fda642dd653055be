/// Checks that both ends of a relationship have sources that agree.
extension MappingCheck {
    /// Reports relationships that one mapping empties while another one copies their inverses.
    mutating func checkInverses(_ mappings: [EntityMapping]) {
        forEachRelationship(of: mappings) { check, mapping, property in
            guard mapping.mapping(ofPropertyNamed: property.name)?.source == .empty, let copied = check.copiedInverse(of: property, mappings) else { return }
            check.problem(
                "the relationship is empty, and its inverse “\(copied)” is copied; give both the source .empty, or both an old property", mapping,
                property.name)
        }
    }

    /// Reports to-one relationships without a source whose inverses are copied. A to-many is filled from its inverse.
    mutating func checkUnnamedInverses(_ mappings: [EntityMapping]) {
        forEachRelationship(of: mappings) { check, mapping, property in
            guard property.isToOne, mapping.mapping(ofPropertyNamed: property.name) == nil, let copied = check.copiedInverse(of: property, mappings)
            else { return }
            check.problem("it has no source, and its inverse “\(copied)” is copied; give it the source .inverse", mapping, property.name)
        }
    }

    private mutating func forEachRelationship(
        of mappings: [EntityMapping], _ body: (inout MappingCheck, EntityMapping, PropertyDescription) -> Void
    ) {
        // A policy sets the relationships of a custom mapping.
        for mapping in mappings where mapping.kind != .custom {
            guard let entity = mapping.destinationEntityName.flatMap({ destination.entitiesByName[$0] }) else { continue }
            for property in entity.relationships where !property.isTransient { body(&self, mapping, property) }
        }
    }

    /// The inverse of a relationship, as `Entity.name`, if a mapping copies it from the old version.
    private func copiedInverse(of relationship: PropertyDescription, _ mappings: [EntityMapping]) -> String? {
        guard let inverse = relationship.inverse else { return nil }
        let copies = mappings.contains { mapping in
            guard mapping.kind != .custom, let entity = mapping.destinationEntityName.flatMap({ destination.entitiesByName[$0] }) else { return false }
            return entity.isKind(of: inverse.entity) && mapping.mapping(ofPropertyNamed: inverse.name)?.sourceName != nil
        }
        return copies ? "\(inverse.entity.name).\(inverse.name)" : nil
    }
}
