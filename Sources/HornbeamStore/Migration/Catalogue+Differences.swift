internal import HornbeamModel

// The comparison of a stored model with a given one. A difference prevents the store from being opened.

extension StoredSchema {
    /// The differences between the stored model and a given one, as parts of a sentence; empty when the store can be opened without a migration.
    ///
    /// Compares the structure of rows, relationships and constraints first. If it is equal, looks for parts that exchange their names, which the
    /// structure does not show. At last compares the version hashes (MDL-9), which also cover the permitted values: optional, transient,
    /// derivation, elements of composites, counts, modifiers.
    func differences(to given: ManagedObjectModel, _ wanted: Catalogue) throws -> [String] {
        let shape = catalogue.differences(to: wanted)
        guard shape.isEmpty else { return shape }
        let renames = RenamedParts(from: model, to: given).parts.map { "\($0.subject) of the model is \($0.formerName) in the store" }
            + RenamedParts(from: given, to: model).parts.map { "\($0.subject) of the store is \($0.formerName) in the model" }
        guard renames.isEmpty else { return renames }
        let difference = try ModelDifference(from: model, to: given)
        guard !difference.migratedEntities.isEmpty else { return [] }
        let versioned = Set(difference.migratedEntities.flatMap { versionedSubjects(of: $0, given) })
        let changes = difference.changes.filter { versioned.contains($0.subject) || $0.subject.hasPrefix("composites.") }
        if changes.isEmpty { return ["\(difference.migratedEntities.joined(separator: ", ")) have another version hash"] }
        return changes.map { change in
            switch change.kind {
            case .added: "the model has \(change.subject), the store does not"
            case .removed: "the store has \(change.subject), the model does not"
            case .changed: "\(change.subject) differs: \(change.details.joined(separator: ", "))"
            }
        }
    }

    /// The entity and its properties with a different version hash, with the names that `ModelDifference` uses.
    private func versionedSubjects(of name: String, _ given: ManagedObjectModel) -> [String] {
        let old = model.entitiesByName[name]
        let new = given.entitiesByName[name]
        let fetched = [old, new].flatMap { $0?.definition.fetchedProperties.map(\.name) ?? [] }
        let stored = Set((old?.properties ?? []).map(\.name)).union((new?.properties ?? []).map(\.name)).filter {
            old?.propertiesByName[$0]?.versionHash != new?.propertiesByName[$0]?.versionHash
        }
        return [name] + (stored + fetched).map { "\(name).\($0)" }
    }
}

extension Catalogue {
    /// The differences in the structure of rows, relationships and constraints, as parts of a sentence; empty when rows are readable without
    /// a migration.
    func differences(to wanted: Catalogue) -> [String] {
        let own = facts
        let other = wanted.facts
        let missing = own.filter { !other.contains($0) }.map { "the store has \($0), the model does not" }
        let fresh = other.filter { !own.contains($0) }.map { "the model has \($0), the store does not" }
        return missing + fresh
    }

    /// The facts of the structure, each as a part of a sentence.
    private var facts: [String] {
        entities.flatMap(facts) + relationships.map(fact)
            + indexes.filter { $0.name == nil }.map { index in
                "the constraint \(index.entity)(\(index.elements.map(\.property).joined(separator: ", ")))"
            }
    }

    private func facts(_ entity: StoredEntity) -> [String] {
        let kind = entity.isAbstract ? "the abstract entity" : "the entity"
        let parent = entity.parent.map { " below \($0)" } ?? ""
        return ["\(kind) \(entity.name)\(parent)"] + entity.columns.map { fact($0, of: entity.name) }
    }

    private func fact(_ property: StoredProperty, of entity: String) -> String {
        guard let destination = property.destination else { return "\(entity).\(property.name): \(property.type.rawValue)" }
        let several = property.entityColumn == nil ? "" : " or its subentities"
        return "\(entity).\(property.name): to one \(destination)\(several)" + inverse(property.inverse)
    }

    private func fact(_ relationship: StoredRelationship) -> String {
        let order = relationship.isOrdered ? "ordered " : ""
        let several = relationship.isPolymorphic ? " or its subentities" : ""
        return "\(relationship.entity).\(relationship.name): to many \(order)\(relationship.destination)\(several)"
            + inverse(relationship.inverse)
    }

    private func inverse(_ name: String?) -> String { name.map { ", inverse \($0)" } ?? ", one way" }
}
