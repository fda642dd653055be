import HornbeamModel

/// The members of a class with `@Entity`.
struct MacroProperties {
    private let source: EntitySource
    private let entity: Entity

    init(_ source: EntitySource) {
        self.source = source
        entity = source.entity
    }

    /// The attribute `@Entity`, with the arguments that differ from their defaults.
    var entityAttribute: String {
        var arguments: [String] = []
        if source.className != entity.name { arguments.append(SwiftSpelling.literal(entity.name)) }
        if entity.isAbstract { arguments.append("abstract: true") }
        arguments += common(entity.renamingIdentifier, entity.versionHashModifier, entity.userInfo)
        return "@\(source.generator.type("Entity"))" + (arguments.isEmpty ? "" : "(\(arguments.joined(separator: ", ")))")
    }

    /// Constraints and indexes, then a line or two for each property.
    var lines: [String] {
        constraints + indexes + fetchedProperties + entity.attributes.flatMap(lines) + entity.relationships.flatMap(lines)
    }

    // MARK: Declarations

    private var constraints: [String] {
        entity.uniquenessConstraints.filter { $0.count > 1 }.map { "#Unique<\(source.className)>([\(keyPaths($0))])" }
    }

    private var indexes: [String] {
        entity.fetchIndexes.filter { !isPlain($0) }.map { index in
            var arguments = index.elements.map(element)
            arguments.append("name: \(SwiftSpelling.literal(index.name))")
            if let predicate = index.partialPredicate { arguments.append("where: \(SwiftSpelling.literal(predicate))") }
            return "#Index<\(source.className)>(\(arguments.joined(separator: ", ")))"
        }
    }

    private func element(_ element: FetchIndexElement) -> String {
        let order = element.isAscending ? "" : ", ascending: false"
        if element.isExpression { return ".expression(\(SwiftSpelling.literal(element.property))\(order))" }
        let collation = element.collation == .binary ? "" : ", collation: .\(element.collation.rawValue)"
        if element.property.contains(".") { return ".path(\(SwiftSpelling.literal(element.property))\(order)\(collation))" }
        return ".\(element.isAscending ? "ascending" : "descending")(\(keyPaths([element.property]))\(collation))"
    }

    /// True for an index that `@Attribute(.indexed)` declares.
    private func isPlain(_ index: FetchIndexDescription) -> Bool {
        guard index.elements.count == 1, index.partialPredicate == nil, let element = index.elements.first else { return false }
        return element == FetchIndexElement(element.property) && index.name == "by_\(element.property)"
            && entity.attributes.contains { $0.name == element.property }
    }

    private var fetchedProperties: [String] {
        entity.fetchedProperties.map { property in
            var arguments = [SwiftSpelling.literal(property.name), "entity: \(SwiftSpelling.literal(property.request.entityName))"]
            if let predicate = property.request.predicate { arguments.append("where: \(SwiftSpelling.literal(predicate))") }
            return "#FetchedProperty(\(arguments.joined(separator: ", ")))"
        }
    }

    private func keyPaths(_ names: [String]) -> String { names.map { "\\.\(SwiftSpelling.name($0))" }.joined(separator: ", ") }

    // MARK: Properties

    private func lines(_ attribute: AttributeDescription) -> [String] {
        let name = SwiftSpelling.name(attribute.name)
        var arguments = options(attribute)
        var initial = ""
        if let value = SwiftSpelling.expression(attribute.typedDefault, of: attribute.type) {
            if SwiftSpelling.isCall(attribute.typedDefault) {
                // An initial value that is a call is not in the model. The argument comes after the options without a label, as in the macro.
                arguments.insert("default: \(value)", at: arguments.firstIndex { !$0.hasPrefix(".") } ?? arguments.count)
            } else {
                initial = " = \(value)"
            }
        }
        arguments += limits(attribute)
        if let merge = attribute.mergeRule { arguments.append("merge: .\(merge.rawValue)") }
        if let composite = attribute.compositeName { arguments.append("composite: \(SwiftSpelling.literal(composite))") }
        if let transformer = attribute.valueTransformerName { arguments.append("transformer: \(SwiftSpelling.literal(transformer))") }
        arguments += common(attribute.renamingIdentifier, attribute.versionHashModifier, attribute.userInfo)
        let mark = arguments.isEmpty ? "" : "@\(source.generator.type("Attribute"))(\(arguments.joined(separator: ", "))) "
        return comment(attribute.userInfo) + ["\(mark)\(source.access)var \(name): \(source.type(of: attribute))\(initial)"]
    }

    private func options(_ attribute: AttributeDescription) -> [String] {
        var options: [String] = []
        if entity.uniquenessConstraints.contains([attribute.name]) { options.append(".unique") }
        if entity.fetchIndexes.contains(where: { isPlain($0) && $0.elements[0].property == attribute.name }) { options.append(".indexed") }
        if attribute.isTransient { options.append(".transient") }
        if attribute.allowsExternalBinaryDataStorage { options.append(".external") }
        if attribute.preservesValueInHistoryOnDeletion { options.append(".preserved") }
        if attribute.type == .transformable { options.append("type: .transformable") }
        return options
    }

    private func limits(_ attribute: AttributeDescription) -> [String] {
        var limits: [String] = []
        for (label, limit) in [("minimum", attribute.minimum), ("maximum", attribute.maximum)] {
            guard let limit, let value = SwiftSpelling.expression(limit, of: attribute.type) else { continue }
            limits.append("\(label): \(typed(value, attribute.type))")
        }
        if let length = attribute.minimumLength { limits.append("minimumLength: \(length)") }
        if let length = attribute.maximumLength { limits.append("maximumLength: \(length)") }
        if let pattern = attribute.pattern { limits.append("pattern: \(SwiftSpelling.literal(pattern))") }
        if !attribute.rules.isEmpty {
            let rules = attribute.rules.map { rule in
                let warning = rule.warning.map { ", warning: \(SwiftSpelling.literal($0))" } ?? ""
                return "ValidationRule(\(SwiftSpelling.literal(rule.predicate))\(warning))"
            }
            limits.append("rules: [\(rules.joined(separator: ", "))]")
        }
        if let derivation = attribute.derivation { limits.append("derivation: \(SwiftSpelling.literal(derivation))") }
        return limits
    }

    /// A limit with its type: the macro's parameters accept any number, so a literal alone does not have the attribute's type.
    private func typed(_ value: String, _ type: AttributeType) -> String {
        switch type {
        case .integer16: "Int16(\(value))"
        case .integer32: "Int32(\(value))"
        case .float: "Float(\(value))"
        default: value
        }
    }

    private func lines(_ relationship: RelationshipDescription) -> [String] {
        var arguments: [String] = []
        if !relationship.isOptional { arguments.append("optional: false") }
        if relationship.isToMany, relationship.minCount > 0 { arguments.append("minCount: \(relationship.minCount)") }
        if relationship.isToMany, relationship.maxCount > 0 { arguments.append("maxCount: \(relationship.maxCount)") }
        if relationship.deleteRule != .nullify { arguments.append("deleteRule: .\(relationship.deleteRule)") }
        if let merge = relationship.mergeRule { arguments.append("merge: .\(merge.rawValue)") }
        arguments.append(relationship.inverseName.map { "inverse: \(SwiftSpelling.literal($0))" } ?? "inverse: nil")
        arguments += common(relationship.renamingIdentifier, relationship.versionHashModifier, relationship.userInfo)
        let name = SwiftSpelling.name(relationship.name)
        return comment(relationship.userInfo)
            + ["@\(source.generator.type("Relationship"))(\(arguments.joined(separator: ", "))) \(source.access)var \(name): \(source.type(of: relationship))"]
    }

    // MARK: Common to entities and properties

    private func common(_ renamed: String?, _ version: String?, _ userInfo: [String: String]) -> [String] {
        var arguments: [String] = []
        if let renamed { arguments.append("renamedFrom: \(SwiftSpelling.literal(renamed))") }
        if let version { arguments.append("version: \(SwiftSpelling.literal(version))") }
        if !userInfo.isEmpty {
            let pairs = userInfo.sorted { $0.key < $1.key }.map { "\(SwiftSpelling.literal($0.key)): \(SwiftSpelling.literal($0.value))" }
            arguments.append("userInfo: [\(pairs.joined(separator: ", "))]")
        }
        return arguments
    }

    private func comment(_ userInfo: [String: String]) -> [String] {
        EntitySource.comment(userInfo, indent: "").split(separator: "\n").map(String.init)
    }
}
