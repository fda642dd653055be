import Hornbeam
import HornbeamLists
import HornbeamModel

/// A short listing of a model: each entity with its properties and constraints, one per line.
struct ModelOutline {
    let definition: ModelDefinition

    var description: String {
        var parts = definition.entities.map(entity)
        parts += definition.composites.map { group("composite \($0.name)", $0.elements.map(attribute)) }
        if !definition.fetchRequestTemplates.isEmpty {
            parts.append(group("fetch requests", definition.fetchRequestTemplates.map(template)))
        }
        if !definition.configurations.isEmpty {
            let rows = definition.configurations.sorted { $0.key < $1.key }.map { [$0.key, $0.value.joined(separator: ", "), ""] }
            parts.append(group("configurations", rows))
        }
        return parts.joined(separator: "\n\n")
    }

    private func group(_ title: String, _ rows: [[String]]) -> String {
        guard !rows.isEmpty else { return title }
        let widths = [0, 1].map { column in rows.map { $0[column].displayWidth }.max() ?? 0 }
        let lines = rows.map { row in
            "  \(row[0].singleLine.padded(to: widths[0]))  \(row[1].singleLine.padded(to: widths[1]))  \(row[2].singleLine)"
                .trimmingTrailingSpaces
        }
        return ([title] + lines).joined(separator: "\n")
    }

    private func entity(_ entity: Entity) -> String {
        var title = entity.isAbstract ? "abstract entity \(entity.name)" : "entity \(entity.name)"
        if let parent = entity.superentityName { title += ": \(parent)" }
        if let name = entity.className, name != entity.name { title += " (class \(name))" }
        var rows = entity.attributes.map(attribute) + entity.relationships.map(relationship)
        rows += entity.fetchedProperties.map { [$0.name, "fetched", template($0.request)[1...].joined(separator: " ")] }
        rows += entity.uniquenessConstraints.map { ["unique", $0.joined(separator: ", "), ""] }
        rows += entity.fetchIndexes.map(index)
        return group(title, rows)
    }

    private func attribute(_ attribute: AttributeDescription) -> [String] {
        var notes: [String] = []
        if attribute.isTransient { notes.append("transient") }
        if let derivation = attribute.derivation { notes.append("= \(derivation)") }
        if !attribute.defaultValue.isNull { notes.append("default \(attribute.defaultValue)") }
        if let minimum = attribute.minimum { notes.append("at least \(minimum)") }
        if let maximum = attribute.maximum { notes.append("at most \(maximum)") }
        if let length = attribute.minimumLength { notes.append("\(length) characters or more") }
        if let length = attribute.maximumLength { notes.append("\(length) characters or fewer") }
        if let pattern = attribute.pattern { notes.append("matches \(pattern)") }
        notes += attribute.rules.map(\.predicate)
        let type = attribute.compositeName ?? "\(attribute.type)"
        return [attribute.name, attribute.isOptional ? "\(type)?" : type, notes.joined(separator: ", ")]
    }

    private func relationship(_ relationship: RelationshipDescription) -> [String] {
        let many = relationship.isOrdered ? "to many, ordered" : "to many"
        var notes = [relationship.isToMany ? many : "to one"]
        if !relationship.isOptional { notes.append("required") }
        if relationship.minCount > 0 { notes.append("at least \(relationship.minCount)") }
        if relationship.isToMany, relationship.maxCount > 0 { notes.append("at most \(relationship.maxCount)") }
        if relationship.deleteRule != .nullify { notes.append("\(relationship.deleteRule) on deletion") }
        if relationship.isTransient { notes.append("transient") }
        let inverse = relationship.inverseName.map { ".\($0)" } ?? ", one-way"
        return [relationship.name, "→ \(relationship.destinationEntityName)\(inverse)", notes.joined(separator: ", ")]
    }

    private func index(_ index: FetchIndexDescription) -> [String] {
        let elements = index.elements.map { $0.isAscending ? $0.property : "\($0.property) descending" }
        return ["index \(index.name)", elements.joined(separator: ", "), index.partialPredicate.map { "where \($0)" } ?? ""]
    }

    private func template(_ template: FetchRequestTemplate) -> [String] {
        let limit = template.fetchLimit > 0 ? ", limit \(template.fetchLimit)" : ""
        return [template.name, template.entityName, (template.predicate.map { "where \($0)" } ?? "all") + limit]
    }
}
