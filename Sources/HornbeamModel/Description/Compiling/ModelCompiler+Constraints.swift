extension ModelCompiler {
    /// The declaration that a path of a constraint or an index names.
    private enum Target {
        case attribute(AttributeDescription)
        case relationship(RelationshipDescription)
        case unknown
    }

    private func target(_ path: String, in entity: String) -> Target {
        let steps = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let line = lineage(of: entity)
        if steps.count == 1, let found = line.flatMap(\.relationships).first(where: { $0.name == path }) {
            return .relationship(found)
        }
        guard var attribute = line.flatMap(\.attributes).first(where: { $0.name == steps[0] }) else { return .unknown }
        for step in steps.dropFirst() {
            guard let composite = attribute.compositeName.flatMap({ compositesByName[$0] }),
                let element = composite.elements.first(where: { $0.name == step })
            else { return .unknown }
            attribute = element
        }
        return .attribute(attribute)
    }

    private func propertyNames(in entity: String) -> [String] {
        lineage(of: entity).flatMap { $0.attributes.map(\.name) + $0.relationships.map(\.name) }
    }

    mutating func checkConstraints(of entity: Entity) {
        for constraint in entity.uniquenessConstraints {
            if constraint.isEmpty {
                report("“\(entity.name)” has a uniqueness constraint without properties: name a property or remove it.", entity: entity.name)
            }
            if Set(constraint).count < constraint.count {
                report(
                    "The uniqueness constraint (\(constraint.joined(separator: ", "))) of “\(entity.name)” "
                        + "names a property twice: name it once.",
                    entity: entity.name)
            }
            for path in constraint { checkConstraintPart(path, of: entity) }
        }
    }

    private mutating func checkConstraintPart(_ path: String, of entity: Entity) {
        let reason: String
        switch target(path, in: entity.name) {
        case .unknown:
            reason = "which it does not have" + suggestion(for: path, among: propertyNames(in: entity.name))
        case .relationship(let relationship) where relationship.isToMany:
            reason = "which is a to-many relationship: only attributes and to-one relationships can be unique"
        case .relationship(let relationship) where relationship.isTransient:
            reason = "which is transient: only stored properties can be unique"
        case .attribute(let attribute) where attribute.isTransient:
            reason = "which is transient: only stored properties can be unique"
        case .attribute(let attribute) where attribute.type == .composite:
            reason = "which is composite: name one of its elements, such as “\(path).x”"
        case .attribute, .relationship: return
        }
        report("A uniqueness constraint of “\(entity.name)” names “\(path)”, \(reason).", entity: entity.name, key: path)
    }

    mutating func checkIndexes(of entity: Entity) {
        var seen: Set<String> = []
        for index in entity.fetchIndexes {
            if !seen.insert(index.name).inserted {
                report("“\(entity.name)” has two indexes named “\(index.name)”: rename or remove one.", entity: entity.name, key: index.name)
            }
            if index.name.isEmpty { report("An index of “\(entity.name)” has no name: give it one.", entity: entity.name) }
            if index.elements.isEmpty {
                report(
                    "The index “\(index.name)” of “\(entity.name)” has no elements: name a property or remove it.", entity: entity.name,
                    key: index.name)
            }
            if Set(index.elements.map(\.kind)).count > 1 {
                report(
                    "The index “\(index.name)” of “\(entity.name)” mixes binary and R-tree elements: "
                        + "make an index of each kind.",
                    entity: entity.name, key: index.name)
            }
            for element in index.elements where !element.isExpression {
                check(element, of: index, in: entity)
            }
            checkFormat(
                index.partialPredicate, of: "The index “\(index.name)” of “\(entity.name)”",
                entity: entity.name, key: index.name)
        }
    }

    private mutating func check(_ element: FetchIndexElement, of index: FetchIndexDescription, in entity: Entity) {
        if element.isObjectOrEntityKey { return }
        let reason: String
        switch target(element.property, in: entity.name) {
        case .unknown:
            reason = "which “\(entity.name)” does not have"
                + suggestion(for: element.property, among: propertyNames(in: entity.name))
        // Such an index is ignored; the linter warns about it.
        case .relationship(let relationship) where relationship.isToMany: return
        case .relationship(let relationship) where relationship.isTransient:
            reason = "which is transient: only stored properties can be indexed"
        case .attribute(let attribute) where attribute.isTransient:
            reason = "which is transient: only stored properties can be indexed"
        case .attribute(let attribute) where attribute.type == .transformable || attribute.type == .composite:
            reason = "which is \(attribute.type) and has no order"
        case .attribute(let attribute) where element.collation != .binary && attribute.type != .string:
            reason = "which is not a string: only strings have a collation"
        case .attribute, .relationship: return
        }
        report("The index “\(index.name)” of “\(entity.name)” names “\(element.property)”, \(reason).", entity: entity.name, key: index.name)
    }

    // MARK: Resolving

    func constraints(of entity: EntityDescription) -> [UniquenessConstraint] {
        entity.definition.uniquenessConstraints.map { names in
            UniquenessConstraint(
                entity: entity,
                elements: names.compactMap { PropertyPath($0, in: entity) })
        }
    }

    /// The resolved indexes. Omits indexes over a to-many relationship: the members of a to-many are always indexed.
    func indexes(of entity: EntityDescription) -> [FetchIndex] {
        entity.definition.fetchIndexes.filter { index in
            !index.elements.contains { entity.propertiesByName[$0.property]?.isToMany == true }
        }.map { index in
            let elements = index.elements.compactMap { element -> FetchIndex.Element? in
                guard !element.isExpression, !element.isObjectOrEntityKey,
                    let path = PropertyPath(element.property, in: entity)
                else { return nil }
                return FetchIndex.Element(
                    path: path, isAscending: element.isAscending, collation: element.collation)
            }
            return FetchIndex(entity: entity, name: index.name, elements: elements, definition: index)
        }
    }
}

extension FetchIndexElement {
    /// True for the special names `self` and `entity` of old models, which mean the object's key and the entity's number (MOD-10).
    var isObjectOrEntityKey: Bool { property == "self" || property == "entity" }
}
