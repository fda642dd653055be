/// What keeps a store from being opened with a model.
extension Catalogue {
    /// What differs in the shape of rows, relationships and constraints, a sentence part each; empty when rows can be read as they are.
    func differences(to wanted: Catalogue) -> [String] {
        let own = facts
        let other = wanted.facts
        let missing = own.filter { !other.contains($0) }.map { "the store has \($0), the model does not" }
        let fresh = other.filter { !own.contains($0) }.map { "the model has \($0), the store does not" }
        return missing + fresh
    }

    /// The shape, one fact a line.
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
