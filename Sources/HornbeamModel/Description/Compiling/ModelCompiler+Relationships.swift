extension ModelCompiler {
    mutating func check(_ relationship: RelationshipDescription, of entity: Entity) {
        checkCounts(of: relationship, in: entity)
        checkMergeRule(of: relationship, in: entity)
        guard entitiesByName[relationship.destinationEntityName] != nil else {
            report(
                "leads to the entity “\(relationship.destinationEntityName)”, which is not in the model"
                    + suggestion(
                        for: relationship.destinationEntityName, among: definition.entities.map(\.name)) + ".",
                relationship, entity)
            return
        }
        checkInverse(of: relationship, in: entity)
    }

    private mutating func report(_ message: String, _ relationship: RelationshipDescription, _ entity: Entity) {
        report("“\(entity.name).\(relationship.name)” \(message)", entity: entity.name, key: relationship.name)
    }

    private mutating func checkCounts(of relationship: RelationshipDescription, in entity: Entity) {
        if relationship.isOrdered, !relationship.isToMany {
            report("is ordered and leads to one object: only a to-many has an order.", relationship, entity)
        }
        if !relationship.isToMany, relationship.maxCount > 1 {
            report("leads to one object and allows \(relationship.maxCount): make it to-many.", relationship, entity)
        }
        if relationship.minCount < 0 || relationship.maxCount < 0 {
            report("has a negative count: use 0 or more.", relationship, entity)
        }
        if relationship.maxCount > 0, relationship.minCount > relationship.maxCount {
            report("has a minimum count above its maximum count: it could never be saved.", relationship, entity)
        }
    }

    private mutating func checkMergeRule(of relationship: RelationshipDescription, in entity: Entity) {
        guard let rule = relationship.mergeRule else { return }
        let fitting: [MergeRule] = relationship.isToMany ? [.union] : [.mine, .theirs, .custom]
        guard !fitting.contains(rule) else { return }
        report(
            "has the merge rule \(rule): a relationship to \(relationship.isToMany ? "many" : "one") has "
                + fitting.map(\.rawValue).joined(separator: ", ") + ".",
            relationship, entity)
    }

    private mutating func checkInverse(of relationship: RelationshipDescription, in entity: Entity) {
        guard let inverseName = relationship.inverseName else { return }
        let destination = relationship.destinationEntityName
        let candidates = lineage(of: destination).flatMap(\.relationships)
        guard let inverse = candidates.first(where: { $0.name == inverseName }) else {
            let isAttribute = lineage(of: destination).contains { $0.attributes.contains { $0.name == inverseName } }
            let reason = isAttribute
                ? "is an attribute of “\(destination)”"
                : "is not a relationship of “\(destination)”" + suggestion(for: inverseName, among: candidates.map(\.name))
            report("has the inverse “\(inverseName)”, which \(reason).", relationship, entity)
            return
        }
        if inverse.inverseName == nil {
            report(
                "has the inverse “\(destination).\(inverseName)”, which names no inverse: "
                    + "name “\(relationship.name)” there.",
                relationship, entity)
        } else if inverse.inverseName != relationship.name {
            report(
                "has the inverse “\(destination).\(inverseName)”, which points to "
                    + "“\(inverse.inverseName ?? "")” and not back: name “\(relationship.name)” there.",
                relationship, entity)
        } else if inverse.destinationEntityName != entity.name {
            report(
                "has the inverse “\(destination).\(inverseName)”, which leads to "
                    + "“\(inverse.destinationEntityName)” and not to “\(entity.name)”: "
                    + "change its destination to the entity that declares the relationship.",
                relationship, entity)
        }
        if inverse.isTransient != relationship.isTransient {
            report("and its inverse must both be transient, or neither.", relationship, entity)
        }
    }
}
