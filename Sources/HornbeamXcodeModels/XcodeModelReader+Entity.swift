internal import HornbeamModel

extension XcodeModelReader {
    private static let entityAttributes: Set<String> = [
        "name", "representedClassName", "representedClassModule", "parentEntity", "isAbstract", "abstract", "syncable",
        "codeGenerationType", "elementID", "renamingIdentifier", "versionHashModifier", "coreSpotlightDisplayNameExpression",
    ]

    mutating func readEntity(_ element: XMLElementTree) -> Entity {
        checkAttributes(of: element, known: Self.entityAttributes)
        let name = required("name", of: element)
        lines.note(element.line, entity: name)
        var entity = Entity(
            name, className: className(of: element), parent: element.attributes["parentEntity"],
            abstract: flag("isAbstract", of: element) || flag("abstract", of: element))
        entity.renamingIdentifier = element.attributes["elementID"] ?? element.attributes["renamingIdentifier"]
        entity.versionHashModifier = element.attributes["versionHashModifier"]
        entity.coreSpotlightDisplayNameExpression = element.attributes["coreSpotlightDisplayNameExpression"]
        entity.userInfo = readUserInfo(element)
        for child in element.children { read(child, into: &entity) }
        return entity
    }

    private mutating func read(_ child: XMLElementTree, into entity: inout Entity) {
        if let key = child.attributes["name"] { lines.note(child.line, entity: entity.name, key: key) }
        switch child.name {
        case "attribute":
            let attribute = readAttribute(child, in: entity.name)
            entity.attributes.append(attribute)
            if flag("indexed", of: child) { index(child, in: &entity, isTransient: attribute.isTransient) }
        case "relationship":
            let relationship = readRelationship(child, in: entity.name)
            entity.relationships.append(relationship)
            // The flag is ignored for to-many relationships, because they are always indexed.
            if flag("indexed", of: child), !relationship.isToMany { index(child, in: &entity, isTransient: relationship.isTransient) }
        case "fetchedProperty": readFetchedProperty(child, into: &entity)
        case "fetchIndex": entity.fetchIndexes.append(readFetchIndex(child))
        case "compoundIndexes":
            for legacy in child.children(named: "compoundIndex") { readCompoundIndex(legacy, into: &entity) }
        case "uniquenessConstraints":
            for constraint in child.children(named: "uniquenessConstraint") {
                let names = constraint.children(named: "constraint").map { required("value", of: $0) }
                for name in names { lines.note(constraint.line, entity: entity.name, key: name) }
                entity.uniquenessConstraints.append(names)
            }
        case "userInfo": break
        default: note(child, "the element <\(child.name)> is not known and was ignored", entity: entity.name)
        }
    }

    /// The name of the class, without Xcode's leading dot for the current module; nil for `NSManagedObject` (MOD-2).
    private func className(of element: XMLElementTree) -> String? {
        guard let written = element.attributes["representedClassName"], !written.isEmpty, written != "NSManagedObject"
        else { return nil }
        let name = written.hasPrefix(".") ? String(written.dropFirst()) : written
        guard let module = element.attributes["representedClassModule"], !module.isEmpty else { return name }
        return "\(module).\(name)"
    }

    /// Adds an index of one element for the old flag `indexed` (MOD-10).
    private mutating func index(_ element: XMLElementTree, in entity: inout Entity, isTransient: Bool) {
        guard let name = element.attributes["name"] else { return }
        if isTransient {
            return note(
                element, "the flag “indexed” of “\(entity.name).\(name)” was ignored: a transient property is not stored", entity: entity.name, key: name)
        }
        entity.fetchIndexes.append(FetchIndexDescription("indexed_\(name)", [FetchIndexElement(name)]))
    }

    private mutating func readCompoundIndex(_ element: XMLElementTree, into entity: inout Entity) {
        let names = element.children(named: "index").map { required("value", of: $0) }
        let index = FetchIndexDescription("compound_" + names.joined(separator: "_"), names.map { FetchIndexElement($0) })
        lines.note(element.line, entity: entity.name, key: index.name)
        if entity.fetchIndexes.contains(index) {
            note(element, "the compound index over \(names.joined(separator: ", ")) occurs twice; one was ignored", entity: entity.name)
        } else {
            entity.fetchIndexes.append(index)
        }
    }

    private mutating func readFetchIndex(_ element: XMLElementTree) -> FetchIndexDescription {
        checkAttributes(of: element, known: ["name", "partialIndexPredicate", "predicateString"])
        let elements = element.children(named: "fetchIndexElement").map { readIndexElement($0) }
        return FetchIndexDescription(
            required("name", of: element), elements,
            where: element.attributes["partialIndexPredicate"] ?? element.attributes["predicateString"])
    }

    private mutating func readIndexElement(_ element: XMLElementTree) -> FetchIndexElement {
        checkAttributes(of: element, known: ["property", "expression", "expressionType", "type", "order"])
        let kind = element.attributes["type"] ?? "Binary"
        if kind != "Binary", kind != "RTree" { note(element, "the index type “\(kind)” is not known and was read as Binary") }
        let order = element.attributes["order"] ?? "ascending"
        if order != "ascending", order != "descending" { note(element, "the order “\(order)” is not known and was read as ascending") }
        let expression = element.attributes["expression"]
        return FetchIndexElement(
            expression ?? required("property", of: element), ascending: order != "descending",
            kind: kind == "RTree" ? .rTree : .binary, isExpression: expression != nil)
    }

    private mutating func readFetchedProperty(_ element: XMLElementTree, into entity: inout Entity) {
        let name = required("name", of: element)
        let requests = element.children(named: "fetchRequest")
        guard let first = requests.first else {
            notes.append(ModelIssue(
                .error, "The fetched property “\(entity.name).\(name)” holds no <fetchRequest>: add one.",
                entity: entity.name, key: name, line: element.line))
            return
        }
        var property = FetchedPropertyDescription(name, entity: "")
        property.request = readFetchRequest(first)
        property.isOptional = flag("optional", of: element)
        property.renamingIdentifier = element.attributes["elementID"] ?? element.attributes["renamingIdentifier"]
        property.versionHashModifier = element.attributes["versionHashModifier"]
        property.userInfo = readUserInfo(element)
        entity.fetchedProperties.append(property)
    }

    private static let relationshipAttributes: Set<String> = [
        "name", "destinationEntity", "optional", "transient", "toMany", "minCount", "maxCount", "ordered", "deletionRule",
        "inverseName", "inverseEntity", "syncable", "indexed", "elementID", "renamingIdentifier", "versionHashModifier",
        "spotlightIndexingEnabled", "storedInTruthFile",
    ]

    private mutating func readRelationship(_ element: XMLElementTree, in entity: String) -> RelationshipDescription {
        checkAttributes(of: element, known: Self.relationshipAttributes)
        let name = required("name", of: element)
        let isToMany = flag("toMany", of: element)
        let maxCount = number("maxCount", of: element)
        var relationship = RelationshipDescription(
            name, to: required("destinationEntity", of: element), inverse: element.attributes["inverseName"],
            toMany: isToMany, ordered: flag("ordered", of: element), optional: flag("optional", of: element),
            transient: flag("transient", of: element), minCount: number("minCount", of: element) ?? 0,
            maxCount: maxCount, deleteRule: deleteRule(of: element, entity, name))
        if !isToMany, maxCount == nil {
            note(
                element, "“\(entity).\(name)” has neither toMany nor maxCount, and was read as to-one", entity: entity, key: name)
        }
        if let inverse = element.attributes["inverseEntity"], element.attributes["inverseName"] != nil,
            inverse != relationship.destinationEntityName
        {
            note(
                element, "the inverse of “\(entity).\(name)” is declared in “\(inverse)”, and the destination is "
                    + "“\(relationship.destinationEntityName)”, which was used", entity: entity, key: name)
        }
        relationship.renamingIdentifier = element.attributes["elementID"] ?? element.attributes["renamingIdentifier"]
        relationship.versionHashModifier = element.attributes["versionHashModifier"]
        relationship.userInfo = readUserInfo(element)
        return relationship
    }

    private mutating func deleteRule(of element: XMLElementTree, _ entity: String, _ name: String) -> DeleteRule {
        switch element.attributes["deletionRule"] {
        case "Nullify", nil: return .nullify
        case "Cascade": return .cascade
        case "Deny": return .deny
        case "No Action": return .noAction
        case .some(let rule):
            note(
                element, "the deletion rule “\(rule)” of “\(entity).\(name)” is not known and was read as Nullify",
                entity: entity, key: name)
            return .nullify
        }
    }
}
