internal import HornbeamModel

/// The catalogue of a new store.
extension Catalogue {
    init(model: ManagedObjectModel) {
        for entity in model.entities { add(entity) }
        for entity in model.entities {
            for property in entity.ownProperties where property.isStoredToMany { add(property) }
            for constraint in entity.uniquenessConstraints where constraint.entity == entity { add(constraint) }
            for index in entity.fetchIndexes where index.entity == entity && index.isStorable { add(index) }
        }
    }

    private mutating func takeNumber() -> Int {
        defer { nextNumber += 1 }
        return nextNumber
    }

    private mutating func add(_ entity: EntityDescription) {
        var stored = StoredEntity(
            number: takeNumber(), name: entity.name, parent: entity.superentity?.name,
            isAbstract: entity.isAbstract, columns: [])
        for property in entity.ownProperties {
            if let column = storedColumn(of: property) { stored.columns.append(column) }
        }
        entities.append(stored)
    }

    private mutating func storedColumn(of property: PropertyDescription) -> StoredProperty? {
        guard let type = property.cellType else { return nil }
        var column = StoredProperty(number: takeNumber(), name: property.name, type: type)
        if type == .reference {
            column.destination = property.destinationEntity?.name
            column.inverse = property.inverse?.name
            column.entityColumn = property.hasSeveralDestinations ? takeNumber() : nil
        }
        return column
    }

    private mutating func add(_ toMany: PropertyDescription) {
        relationships.append(
            StoredRelationship(
                number: takeNumber(), entity: toMany.entity.name, name: toMany.name,
                destination: toMany.destinationEntity?.name ?? "", inverse: toMany.inverse?.name,
                isOrdered: toMany.isOrdered, isPolymorphic: toMany.hasSeveralDestinations,
                kind: toMany.linkKind))
    }

    private mutating func add(_ constraint: UniquenessConstraint) {
        indexes.append(
            StoredIndex(
                number: takeNumber(), entity: constraint.entity.name, name: nil,
                elements: constraint.elements.map { StoredIndex.Element(property: $0.description) },
                isPolymorphic: constraint.entity.concreteDescendants.count > 1))
    }

    mutating func add(_ index: FetchIndex) {
        indexes.append(StoredIndex(index, number: takeNumber()))
    }
}

extension Catalogue.StoredIndex {
    init(_ index: FetchIndex, number: Int) {
        self.init(
            number: number, entity: index.entity.name, name: index.name,
            elements: index.definition.elements.map {
                Element(
                    property: $0.property, isAscending: $0.isAscending, collation: KeyCollation($0.collation),
                    isExpression: $0.isExpression ? true : nil)
            },
            isPolymorphic: index.entity.concreteDescendants.count > 1, condition: index.condition?.description)
    }
}

extension EntityDescription {
    /// The properties that the entity declares itself.
    var ownProperties: [PropertyDescription] { properties.filter { $0.entity == self } }
}

extension PropertyDescription {
    /// The type of the property's column; nil when it has none.
    var cellType: CellType? {
        if isTransient { return nil }
        if isRelationship { return isToMany ? nil : .reference }
        return attribute.flatMap { CellType($0.type) }
    }

    var isStoredToMany: Bool { isRelationship && isToMany && !isTransient }

    var hasSeveralDestinations: Bool { (destinationEntity?.concreteDescendants.count ?? 0) > 1 }

    var linkKind: Catalogue.StoredRelationship.Kind {
        guard let inverse else { return .oneWay }
        return inverse.isToMany ? .mutual : .mirror
    }
}
