/// Compiles a declared model into entities, and collects all problems.
///
/// After a problem, the other parts are still checked, so that one error reports all problems.
struct ModelCompiler {
    let definition: ModelDefinition
    var problems: [HornbeamError] = []

    /// The declared entities by name. If several have the same name, the first.
    let entitiesByName: [String: Entity]
    let compositesByName: [String: CompositeDescription]
    /// The names of superentities by the name of the subentity, without unknown superentities and without cycles.
    private(set) var parents: [String: String] = [:]
    /// The number of suggestions that may still be made. Each suggestion compares all names, so a model with many unknown names gets only a few.
    private var hintsLeft = 32

    init(_ definition: ModelDefinition) {
        self.definition = definition
        entitiesByName = Dictionary(definition.entities.map { ($0.name, $0) }) { first, _ in first }
        compositesByName = Dictionary(definition.composites.map { ($0.name, $0) }) { first, _ in first }
    }

    /// The compiled entities, not yet resolved, in the order of the definition.
    mutating func compile() throws -> [EntityDescription] {
        checkEntityNames()
        checkHierarchy()
        for composite in definition.composites { check(composite) }
        for entity in definition.entities {
            checkPropertyNames(of: entity)
            for attribute in entity.attributes {
                check(attribute, of: entity.name)
                checkDerivation(of: attribute, in: entity)
            }
            for relationship in entity.relationships { check(relationship, of: entity) }
            for property in entity.fetchedProperties { check(property, of: entity) }
            checkConstraints(of: entity)
            checkIndexes(of: entity)
        }
        checkConfigurations()
        checkTemplates()
        if !problems.isEmpty { throw Self.error(for: problems) }
        return build()
    }

    static func error(for problems: [HornbeamError]) -> HornbeamError {
        let count = problems.count == 1 ? "a problem" : "\(problems.count) problems"
        let first = problems.prefix(3).map(\.message).joined(separator: " ")
        let rest = problems.count > 3 ? " … (all of them are among the details)" : ""
        return HornbeamError(
            .invalidModel, "The model has \(count): \(first)\(rest)",
            entity: problems.first?.entity, key: problems.first?.key, details: problems)
    }

    mutating func report(_ message: String, entity: String? = nil, key: String? = nil) {
        problems.append(HornbeamError(.invalidModel, message, entity: entity, key: key))
    }

    /// The hint “ (did you mean “x”?)”, or an empty text if no known name is similar or no suggestions are left.
    mutating func suggestion(for name: String, among known: some Sequence<String>) -> String {
        guard hintsLeft > 0 else { return "" }
        hintsLeft -= 1
        return HornbeamModel.suggestion(for: name, among: known)
    }

    // MARK: Names and hierarchy

    private mutating func checkEntityNames() {
        var seen: Set<String> = []
        for entity in definition.entities {
            if !isIdentifier(entity.name) {
                report(
                    "The entity name “\(entity.name)” is not an identifier: "
                        + "use letters, digits and underscores, and no digit first.",
                    entity: entity.name)
            }
            if !seen.insert(entity.name).inserted {
                report("There are two entities named “\(entity.name)”: rename or remove one.", entity: entity.name)
            }
        }
    }

    private mutating func checkHierarchy() {
        for entity in definition.entities {
            guard let parent = entity.superentityName else { continue }
            if entitiesByName[parent] == nil {
                report(
                    "The parent entity “\(parent)” of “\(entity.name)” is not in the model"
                        + suggestion(for: parent, among: definition.entities.map(\.name)) + ".",
                    entity: entity.name)
            } else {
                parents[entity.name] = parent
            }
        }
        for entity in definition.entities { checkAncestors(above: entity.name) }
    }

    /// The maximum depth of the hierarchy. It limits recursion; real models have fewer levels.
    private static let levelsMax = 100

    private mutating func checkAncestors(above name: String) {
        var path = [name]
        while let parent = parents[path[path.count - 1]] {
            path.append(parent)
            if parent == name {
                report(
                    "“\(name)” inherits from itself: \(path.joined(separator: " → ")). Give one of these entities no parent.",
                    entity: name)
                parents[name] = nil
                return
            }
            if path.count > Self.levelsMax {
                report("“\(name)” inherits over more than \(Self.levelsMax) levels: use fewer.", entity: name)
                parents[name] = nil
                return
            }
        }
    }

    /// The entity and its ancestors, the topmost first.
    func lineage(of name: String) -> [Entity] {
        var line: [Entity] = []
        var current: String? = name
        while let name = current, let entity = entitiesByName[name] {
            line.append(entity)
            current = parents[name]
        }
        return line.reversed()
    }

    private mutating func checkPropertyNames(of entity: Entity) {
        var inherited: [String: String] = [:]
        for ancestor in lineage(of: entity.name).dropLast() {
            for name in ancestor.propertyNames where inherited[name] == nil { inherited[name] = ancestor.name }
        }
        var seen: Set<String> = []
        for name in entity.propertyNames {
            if !isIdentifier(name) {
                report(
                    "The property name “\(name)” of “\(entity.name)” is not an identifier: "
                        + "use letters, digits and underscores, and no digit first.",
                    entity: entity.name, key: name)
            } else if reservedPropertyNames.contains(name) {
                report(
                    "The property name “\(name)” of “\(entity.name)” is reserved, because every managed object "
                        + "has a member of that name: choose another, such as “\(entity.name.lowercasedFirst)\(name.uppercasedFirst)”.",
                    entity: entity.name, key: name)
            }
            if !seen.insert(name).inserted {
                report(
                    "“\(entity.name)” has two properties named “\(name)”: rename or remove one.",
                    entity: entity.name, key: name)
            } else if let ancestor = inherited[name] {
                report(
                    "“\(entity.name).\(name)” is inherited from “\(ancestor)” already: rename or remove one.",
                    entity: entity.name, key: name)
            }
        }
    }

    // MARK: Building

    private func build() -> [EntityDescription] {
        var built: [String: EntityDescription] = [:]
        let indexes = Dictionary(uniqueKeysWithValues: definition.entities.enumerated().map { ($1.name, $0) })
        func make(_ name: String) -> EntityDescription? {
            if let entity = built[name] { return entity }
            guard let declared = entitiesByName[name], let index = indexes[name] else { return nil }
            let superentity = parents[name].flatMap(make)
            let first = superentity?.properties.count ?? 0
            let entity = EntityDescription(
                definition: declared, index: index, superentity: superentity,
                own: properties(of: declared, from: first))
            built[name] = entity
            return entity
        }
        return definition.entities.compactMap { make($0.name) }
    }

    private func properties(of entity: Entity, from first: Int) -> [PropertyDescription] {
        var own: [PropertyDescription] = []
        for attribute in entity.attributes {
            own.append(PropertyDescription(
                name: attribute.name, index: first + own.count, kind: .attribute(attribute),
                composites: compositesByName))
        }
        for relationship in entity.relationships {
            own.append(PropertyDescription(
                name: relationship.name, index: first + own.count, kind: .relationship(relationship),
                composites: compositesByName))
        }
        return own
    }

    /// Connects the entities with one another and with the model.
    func resolve(_ entities: [EntityDescription], in model: ManagedObjectModel) {
        let byName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
        for entity in entities {
            for property in entity.properties.dropFirst(entity.superentity?.properties.count ?? 0) {
                let relationship = property.relationship
                let destination = relationship.flatMap { byName[$0.destinationEntityName] }
                let inverse = relationship?.inverseName.flatMap { destination?.relationshipsByName[$0] }
                property.resolve(entity: entity, destination: destination, inverse: inverse)
            }
        }
        let subentities = Dictionary(grouping: entities.filter { $0.superentity != nil }) { $0.superentity?.index ?? 0 }
        func concrete(_ entity: EntityDescription) -> [EntityDescription] {
            (entity.isAbstract ? [] : [entity]) + subentities[entity.index, default: []].flatMap(concrete)
        }
        for entity in entities {
            let line = sequence(first: entity, next: \.superentity).reversed()
            entity.resolve(
                model: model, subentities: subentities[entity.index, default: []], concrete: concrete(entity),
                constraints: line.flatMap(constraints), indexes: line.flatMap(indexes))
        }
    }
}

/// The message of an error of Hornbeam without its code; the description of another error.
func message(of error: any Error) -> String { (error as? HornbeamError)?.message ?? "\(error)" }

extension Entity {
    /// The names of all own properties, fetched ones included.
    var propertyNames: [String] {
        attributes.map(\.name) + relationships.map(\.name) + fetchedProperties.map(\.name)
    }
}

/// Names that no property may have, because every managed object has a member with that name (MOD-6).
public let reservedPropertyNames: Set<String> = [
    "Type", "debugDescription", "description", "entity", "hasChanges", "hash", "hashValue", "init",
    "isDeleted", "isFault", "isInserted", "isUpdated", "managedObjectContext", "objectID", "self",
]

/// True for a word that can be a Swift name: letters, digits and underscores, and no digit first.
func isIdentifier(_ name: String) -> Bool {
    guard let first = name.first, first.isLetter || first == "_" else { return false }
    return name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
}

extension String {
    fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
    fileprivate var uppercasedFirst: String { prefix(1).uppercased() + dropFirst() }
}
