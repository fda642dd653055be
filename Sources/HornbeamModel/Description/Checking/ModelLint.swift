/// Finds all errors and doubtful parts of a model.
///
/// `ManagedObjectModel(definition)` throws the errors. Warnings concern parts that Xcode accepts:
/// missing inverses, defaults outside their own limits, delete rules that leave dangling references …
public enum ModelLint {
    /// The issues of a definition, errors first, then in the order of the definition.
    public static func issues(in definition: ModelDefinition) -> [ModelIssue] {
        let errors = ModelCompiler.problems(of: definition).map {
            ModelIssue(.error, $0.message, entity: $0.entity, key: $0.key)
        }
        let notices = definition.entities.flatMap { entity in
            warnings(about: entity) + ignoredIndexes(of: entity, definition)
                + entity.attributes.flatMap { warnings(about: $0, in: entity.name) }
                + entity.relationships.flatMap { warnings(about: $0, in: entity, definition) }
        }
        let elements = definition.composites.flatMap { composite in
            composite.elements.flatMap { warnings(about: $0, in: composite.name) }
        }
        return errors + notices + elements + unusedComposites(in: definition)
    }

    private static func warnings(about entity: Entity) -> [ModelIssue] {
        var found: [ModelIssue] = []
        func warn(_ message: String, key: String? = nil) {
            found.append(ModelIssue(.warning, message, entity: entity.name, key: key))
        }
        if let first = entity.name.first, first.isLowercase {
            warn("The entity name “\(entity.name)” begins with a lower-case letter: entity names follow the rules of class names.")
        }
        let unique = Set(entity.uniquenessConstraints.map(Set.init))
        if unique.count < entity.uniquenessConstraints.count {
            warn("“\(entity.name)” has the same uniqueness constraint twice: remove one.")
        }
        for name in entity.propertyNames where !isPlainInFormats(name) {
            warn(
                "“\(entity.name).\(name)” is a keyword of the predicate language: write it there as #\(name).", key: name)
        }
        let optional = Set(entity.attributes.filter(\.isOptional).map(\.name))
        for constraint in entity.uniquenessConstraints {
            for name in constraint where optional.contains(name) {
                warn(
                    "“\(entity.name).\(name)” is unique and optional: objects without a value never conflict, so make it "
                        + "required if each object must have a value.",
                    key: name)
            }
        }
        return found
    }

    private static func ignoredIndexes(of entity: Entity, _ definition: ModelDefinition) -> [ModelIssue] {
        let names = toManyNames(of: entity, definition)
        return entity.fetchIndexes.compactMap { index in
            guard let name = index.elements.map(\.property).first(where: names.contains) else { return nil }
            return ModelIssue(
                .warning,
                "The index “\(index.name)” of “\(entity.name)” names “\(name)”, a to-many relationship, and is ignored: the members of "
                    + "a to-many are indexed anyway.",
                entity: entity.name, key: index.name)
        }
    }

    /// The names of the to-many relationships of an entity, inherited ones included.
    private static func toManyNames(of entity: Entity, _ definition: ModelDefinition) -> Set<String> {
        var names: Set<String> = []
        var line: Set<String> = []
        var next: Entity? = entity
        while let current = next, line.insert(current.name).inserted {
            names.formUnion(current.relationships.filter(\.isToMany).map(\.name))
            next = definition.entities.first { $0.name == current.superentityName }
        }
        return names
    }

    /// True when a format string can use the name as a key.
    private static func isPlainInFormats(_ name: String) -> Bool {
        let expression = try? FetchExpression(format: name)
        return expression?.node == .keyPath(name)
    }

    private static func warnings(about attribute: AttributeDescription, in owner: String) -> [ModelIssue] {
        var found: [ModelIssue] = []
        func warn(_ message: String) {
            found.append(ModelIssue(
                .warning, "“\(owner).\(attribute.name)” \(message)", entity: owner, key: attribute.name))
        }
        if attribute.type == .transformable, attribute.valueTransformerName == nil {
            warn("is transformable and names no transformer: values are stored as JSON of a Codable type.")
        }
        if attribute.isDerived, !attribute.isOptional {
            warn("is derived and required: it has no value before its first save, so make it optional.")
        }
        if attribute.allowsExternalBinaryDataStorage, attribute.type != .binary {
            warn("allows external storage, which applies to binary data only.")
        }
        if attribute.isTransient, attribute.preservesValueInHistoryOnDeletion {
            warn("is transient, so there is no stored value to preserve after deletion.")
        }
        if !attribute.defaultValue.isNull, let reason = reasonAgainstDefault(of: attribute) {
            warn("has a default value that \(reason): a new object cannot be saved with it.")
        }
        if let (least, greatest) = attribute.type.extremes {
            let limits = [(attribute.minimum, ValueOrder.less, least, "minimum"), (attribute.maximum, .greater, greatest, "maximum")]
            for (limit, order, extreme, word) in limits where limit?.compared(to: extreme) == order {
                warn("has a \(word) outside the range of \(attribute.type.withArticle), so it has no effect: remove it.")
            }
        }
        if let first = attribute.name.first, first.isUppercase {
            warn("begins with a capital letter: property names follow the rules of Swift names.")
        }
        return found
    }

    private static func reasonAgainstDefault(of attribute: AttributeDescription) -> String? {
        let value = attribute.defaultValue
        if let minimum = attribute.minimum, value.compared(to: minimum) == .less { return "is below its own minimum" }
        if let maximum = attribute.maximum, value.compared(to: maximum) == .greater { return "is above its own maximum" }
        if case .string(let text) = value {
            if let minimum = attribute.minimumLength, text.count < minimum { return "is shorter than its own minimum" }
            if let maximum = attribute.maximumLength, text.count > maximum { return "is longer than its own maximum" }
        }
        return nil
    }

    private static func warnings(
        about relationship: RelationshipDescription, in entity: Entity, _ definition: ModelDefinition
    ) -> [ModelIssue] {
        var found: [ModelIssue] = []
        func warn(_ message: String) {
            found.append(ModelIssue(
                .warning, "“\(entity.name).\(relationship.name)” \(message)", entity: entity.name, key: relationship.name))
        }
        if relationship.inverseName == nil {
            warn(
                "has no inverse: deleted objects can leave dangling references, so name one, or leave it out on "
                    + "purpose for a one-way relationship.")
        }
        if relationship.deleteRule == .noAction {
            warn("has the delete rule “no action”: the other end keeps references to deleted objects.")
        }
        if relationship.isOptional, relationship.minCount > 0, relationship.isToMany {
            warn("is optional and has a minimum count, which is not enforced while it is empty.")
        }
        let destination = definition.entities.first { $0.name == relationship.destinationEntityName }
        let inverse = destination?.relationships.first { $0.name == relationship.inverseName }
        if let inverse, relationship.deleteRule == .cascade, inverse.deleteRule == .cascade, relationship.isToMany, inverse.isToMany {
            warn("and its inverse both cascade: deleting one object deletes all that are connected.")
        }
        if let inverse, !relationship.isToMany, !inverse.isToMany, !relationship.isOptional, !inverse.isOptional,
            relationship.deleteRule == .nullify
        {
            warn("and its inverse are both required and nullify: neither object can be deleted alone.")
        }
        return found
    }

    private static func unusedComposites(in definition: ModelDefinition) -> [ModelIssue] {
        let attributes = definition.entities.flatMap(\.attributes) + definition.composites.flatMap(\.elements)
        let used = Set(attributes.compactMap(\.compositeName))
        return definition.composites.filter { !used.contains($0.name) }.map {
            ModelIssue(.warning, "The composite “\($0.name)” is not used.", entity: $0.name)
        }
    }
}
