extension MappingInference {
    /// The source of a relationship's objects. Records obstacles to the inference.
    mutating func relationshipSource(
        _ relationship: PropertyDescription, _ old: PropertyDescription?, _ entity: EntityDescription
    ) -> PropertyMapping.Source {
        guard let old else { return newRelationshipSource(relationship) }
        guard old.isRelationship else {
            obstacle(
                "It was an attribute and is a relationship now. Give it another name.", relationship.entity.name, relationship.name)
            return .empty
        }
        if old.isToMany, !relationship.isToMany {
            obstacle(
                "It was to many and is to one now: code must choose the object that remains.", relationship.entity.name,
                relationship.name)
        }
        checkDestination(relationship, old)
        checkInverse(relationship)
        return .property(old.name)
    }

    /// Checks that all objects of the relationship that remain belong to its new destination.
    private mutating func checkDestination(_ relationship: PropertyDescription, _ old: PropertyDescription) {
        guard let before = old.destinationEntity, let after = relationship.destinationEntity else { return }
        let successorEntities = before.concreteDescendants.compactMap { successor(of: $0) }
        let incompatibleEntities = successorEntities.filter { !$0.isKind(of: after) }
        if let incompatibleEntity = incompatibleEntities.first {
            obstacle(
                "It led to \(before.name) and leads to \(after.name) now, which objects of \(incompatibleEntity.name) are not.",
                relationship.entity.name, relationship.name)
        } else if successorEntities.isEmpty, successor(of: before) !== after, !before.concreteDescendants.isEmpty {
            obstacle(
                "It led to \(before.name), which is removed, and leads to \(after.name) now. Give the relationship another name, or "
                    + "rename the entity.", relationship.entity.name, relationship.name)
        }
    }

    /// Checks that a relationship and its inverse were inverses of each other before.
    private mutating func checkInverse(_ relationship: PropertyDescription) {
        guard let inverse = relationship.inverse else { return }
        let own = allSources(of: relationship)
        let other = allSources(of: inverse)
        guard !other.isEmpty else {
            if relationship.isToOne, inverse.isToOne {
                obstacle(
                    "Its inverse “\(inverse.name)” is new and to one: code must choose its object.",
                    relationship.entity.name, relationship.name)
            }
            return
        }
        let wereInverse = own.allSatisfy { $0.inverse.map(other.contains) ?? false }
            && other.allSatisfy { $0.inverse.map(own.contains) ?? false }
        if !wereInverse {
            obstacle(
                "“\(relationship.name)” and “\(inverse.name)” become inverse to each other and were not, so that they may contradict each "
                    + "other.", relationship.entity.name, relationship.name)
        }
    }

    private func newRelationshipSource(_ relationship: PropertyDescription) -> PropertyMapping.Source {
        // The inverse fills the relationship only if no entity had it before. If a superentity had it, it is empty in the objects that are new to it.
        guard let inverse = relationship.inverse, !allSources(of: inverse).isEmpty, allSources(of: relationship).isEmpty else { return .empty }
        return .inverse
    }
}
