extension ModelCompiler {
    mutating func checkConfigurations() {
        for (name, members) in definition.configurations.sorted(by: { $0.key < $1.key }) {
            if name.isEmpty { report("A configuration has no name: give it one.") }
            for member in members where entitiesByName[member] == nil {
                report(
                    "The configuration “\(name)” names the entity “\(member)”, which is not in the model"
                        + suggestion(for: member, among: definition.entities.map(\.name)) + ".",
                    entity: member, key: name)
            }
        }
    }

    mutating func checkTemplates() {
        var seen: Set<String> = []
        for template in definition.fetchRequestTemplates {
            if !seen.insert(template.name).inserted {
                report("There are two fetch request templates named “\(template.name)”: rename or remove one.", key: template.name)
            }
            if template.name.isEmpty { report("A fetch request template has no name: give it one.") }
            if entitiesByName[template.entityName] == nil {
                report(
                    "The fetch request template “\(template.name)” names the entity “\(template.entityName)”, "
                        + "which is not in the model"
                        + suggestion(for: template.entityName, among: definition.entities.map(\.name)) + ".",
                    entity: template.entityName, key: template.name)
            }
            checkFormat(template.predicate, of: "The fetch request template “\(template.name)”", key: template.name)
        }
    }

    mutating func check(_ property: FetchedPropertyDescription, of entity: Entity) {
        let fetched = property.request.entityName
        if entitiesByName[fetched] == nil, !definition.externalEntities.contains(fetched) {
            report(
                "“\(entity.name).\(property.name)” fetches the entity “\(property.request.entityName)”, "
                    + "which is not in the model"
                    + suggestion(for: property.request.entityName, among: definition.entities.map(\.name)) + ".",
                entity: entity.name, key: property.name)
        }
        checkFormat(
            property.request.predicate, of: "“\(entity.name).\(property.name)”", entity: entity.name, key: property.name)
    }

    /// Reports a predicate that does not parse. A nil or empty format matches all objects.
    mutating func checkFormat(_ format: String?, of owner: String, entity: String? = nil, key: String? = nil) {
        guard let format, !format.isEmpty else { return }
        do {
            _ = try FetchPredicate(format: format)
        } catch {
            report("\(owner) has a predicate that does not parse. \(message(of: error))", entity: entity, key: key)
        }
    }

    // MARK: Checks against the resolved model

    /// Validates every predicate and sort order of the model against its entities.
    mutating func checkRequests(in model: ManagedObjectModel) throws {
        for entity in model.entities {
            for property in entity.definition.fetchedProperties
            where !definition.externalEntities.contains(property.request.entityName) {
                check(property.request, of: "“\(entity.name).\(property.name)”", in: model, entity.name, property.name)
            }
            for index in entity.definition.fetchIndexes {
                check(index, of: entity)
            }
        }
        for template in model.definition.fetchRequestTemplates {
            check(template, of: "The fetch request template “\(template.name)”", in: model, nil, template.name)
        }
        if !problems.isEmpty { throw Self.error(for: problems) }
    }

    private mutating func check(
        _ template: FetchRequestTemplate, of owner: String, in model: ManagedObjectModel, _ entity: String?, _ key: String
    ) {
        do {
            let fetched = try model.entity(named: template.entityName)
            let request = try template.fetchDescription()
            try request.predicate?.validated(for: fetched)
            for sort in request.sortDescriptors { try sort.validated(for: fetched) }
        } catch {
            report("\(owner) does not fit “\(template.entityName)”. \(message(of: error))", entity: entity, key: key)
        }
    }

    private mutating func check(_ index: FetchIndexDescription, of entity: EntityDescription) {
        do {
            if let format = index.partialPredicate { try FetchPredicate(format: format).validated(for: entity) }
            for element in index.elements where element.isExpression {
                _ = try FetchExpression(format: element.property).validatedType(for: entity)
            }
        } catch {
            report(
                "The index “\(index.name)” of “\(entity.name)” cannot be built. \(message(of: error))", entity: entity.name,
                key: index.name)
        }
    }
}
