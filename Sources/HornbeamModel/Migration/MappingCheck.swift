/// Checks the mappings that an app declares against the two models, and collects all contradictions.
struct MappingCheck {
    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    /// True when the code of a stage sets values afterwards.
    private let allowsCode: Bool
    var problems: [HornbeamError] = []

    init(_ source: ManagedObjectModel, _ destination: ManagedObjectModel, allowsCode: Bool = false) {
        self.source = source
        self.destination = destination
        self.allowsCode = allowsCode
    }

    /// - Throws: `invalidMigrationPlan`; each problem is one of its details.
    func check(_ mappings: [EntityMapping]) throws {
        var copy = self
        var seen: Set<String> = []
        var mappingNames: [String: String] = [:]
        for mapping in mappings {
            if mapping.kind != .custom, let source = mapping.sourceEntityName ?? mapping.destinationEntityName,
                let other = mappingNames.updateValue(mapping.name, forKey: source), other != mapping.name
            {
                copy.problem("it keeps the objects of “\(source)”, and so does \(other); make one of them custom", mapping, nil)
            }
            if !seen.insert(mapping.name).inserted { copy.problem("there are two mappings of this name", mapping, nil) }
            copy.check(mapping)
        }
        copy.checkInverses(mappings)
        try copy.throwProblems()
    }

    func throwProblems() throws {
        guard !problems.isEmpty else { return }
        throw HornbeamError(
            .invalidMigrationPlan, "The mapping does not fit the models: each problem is among the details.", details: problems)
    }

    mutating func problem(_ text: String, _ mapping: EntityMapping, _ key: String?) {
        let subject = key.map { "\(mapping.name), \($0)" } ?? mapping.name
        problems.append(
            HornbeamError(.invalidMigrationPlan, "\(subject): \(text).", entity: mapping.destinationEntityName, key: key))
    }

    private mutating func check(_ mapping: EntityMapping) {
        let name = mapping.destinationEntityName ?? ""
        guard let entity = destination.entitiesByName[name] else {
            return problem(
                "the new model has no entity “\(name)”\(suggestion(for: name, among: destination.entities.map(\.name)))", mapping, nil)
        }
        if let name = mapping.sourceEntityName, source.entitiesByName[name] == nil {
            return problem(
                "the old model has no entity “\(name)”\(suggestion(for: name, among: source.entities.map(\.name)))", mapping, nil)
        }
        if mapping.kind == .add || mapping.kind == .remove || mapping.kind == .undefined {
            problem("entities are added and removed by the models; write a mapping of kind transform or custom", mapping, nil)
        }
        let inference = MappingInference(source, destination, [mapping])
        guard let old = mapping.sourceEntityName.flatMap({ source.entitiesByName[$0] }) ?? inference.matchedSource(of: entity) else {
            return problem("the entity is new; name the entity that its objects come from", mapping, nil)
        }
        if let predicate = mapping.sourcePredicate { recordError(mapping, nil) { _ = try predicate.validated(for: old) } }
        checkProperties(of: mapping, entity, old)
    }

    /// - Parameter namesDerived: True when the mapping may name derived attributes.
    mutating func checkProperties(
        of mapping: EntityMapping, _ entity: EntityDescription, _ old: EntityDescription, namesDerived: Bool = false
    ) {
        var seen: Set<String> = []
        for property in mapping.attributeMappings + mapping.relationshipMappings {
            if !seen.insert(property.name).inserted { problem("the property is named twice", mapping, property.name) }
            if namesDerived, entity.propertiesByName[property.name]?.isDerived == true, property.source == .derivation { continue }
            check(property, entity, old, mapping, namesDerived: namesDerived)
        }
    }

    private mutating func check(
        _ mapping: PropertyMapping, _ entity: EntityDescription, _ old: EntityDescription, _ owner: EntityMapping, namesDerived: Bool
    ) {
        guard let property = entity.propertiesByName[mapping.name], !property.isTransient else {
            let names = entity.properties.filter { !$0.isTransient }.map(\.name)
            return problem("the new entity stores no property of that name\(suggestion(for: mapping.name, among: names))", owner, mapping.name)
        }
        if property.isDerived, !namesDerived || mapping.sourceName == nil {
            return problem("the store computes derived attributes; leave it out", owner, mapping.name)
        }
        switch mapping.source {
        case .property(let name), .converted(let name):
            guard let before = old.propertiesByName[name], !before.isTransient else {
                return problem(
                    "“\(old.name)” stores no property “\(name)”\(suggestion(for: name, among: old.properties.map(\.name)))", owner, mapping.name)
            }
            if case .converted = mapping.source, property.isRelationship || before.isRelationship {
                problem("relationships are not converted; use an expression or code", owner, mapping.name)
            }
        case .expression(let expression):
            recordError(owner, mapping.name) { _ = try expression.replacingSourceVariable.validatedType(for: old) }
        case .defaultValue:
            if property.isRelationship {
                problem("a relationship has neither default value nor derivation", owner, mapping.name)
            } else if !property.isOptional, property.defaultValue.isNull, !allowsCode, owner.kind != .custom {
                problem("it is required and has no default value; name another source", owner, mapping.name)
            }
        case .derivation:
            problem(
                property.isRelationship ? "a relationship has neither default value nor derivation" : "the attribute is not derived; name another source",
                owner, mapping.name)
        case .inverse, .empty:
            if property.isAttribute { problem("an attribute has no inverse and is not empty; use its default value", owner, mapping.name) }
        case .code: break
        }
    }

    private mutating func recordError(_ mapping: EntityMapping, _ key: String?, _ body: () throws -> Void) {
        do { try body() } catch {
            let error = error as? HornbeamError
            problems.append(
                HornbeamError(
                    .invalidMigrationPlan, "\(mapping.name)\(key.map { ", \($0)" } ?? ""): \(error?.message ?? "\(error as Any)")",
                    entity: mapping.destinationEntityName, key: key ?? error?.key))
        }
    }
}

extension MappingInference {
    /// The predecessor of an entity, by renaming identifier and by name.
    func matchedSource(of entity: EntityDescription) -> EntityDescription? {
        let match = RenameMatch(old: source.entities.map(\.renamePart), new: destination.entities.map(\.renamePart))
        return match.matches[entity.index].map { source.entities[$0] }
    }
}

extension FetchExpression {
    /// The expression with `SELF` in place of `$source`, which is the old object in Core Data's mapping models (MIG-7).
    package var replacingSourceVariable: FetchExpression {
        FetchExpression(
            node: node.mapExpressions { node in
                switch node {
                case .variable("source"): .evaluatedObject
                case .keyPath(.variable("source"), let steps): .keyPath(.evaluatedObject, steps)
                default: node
                }
            })
    }
}
