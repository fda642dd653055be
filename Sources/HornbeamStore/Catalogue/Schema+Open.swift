internal import HornbeamEngine
internal import HornbeamModel

extension Schema {
    /// Finds a tree by its name in a snapshot or a transaction.
    typealias TreeFinder = (String) -> TreeID?

    /// Resolves a catalogue against its model.
    ///
    /// - Parameter findsByIndexes: False to leave the fetch indexes empty, and to find no objects by the others.
    /// - Throws: `damaged` when a tree is missing or the model lacks a name.
    convenience init(
        _ catalogue: Catalogue, model: ManagedObjectModel, findsByIndexes: Bool = true, find: @escaping TreeFinder
    ) throws(EngineError) {
        let resolver = SchemaResolver(catalogue: catalogue, model: model, findsByIndexes: findsByIndexes, find: find)
        let links = try resolver.links()
        try resolver.checkCompleteness(of: links)
        let indexes = try resolver.indexes()
        var tables: [EntityTable?] = []
        var slot = 0
        for entity in model.entities {
            guard !entity.isAbstract else {
                tables.append(nil)
                continue
            }
            tables.append(try resolver.table(entity, slot: slot, links: links, indexes: indexes))
            slot += 1
        }
        self.init(model: model, catalogue: catalogue, tables: tables, links: links, indexes: indexes, findsByIndexes: findsByIndexes)
    }

    /// Throws `damaged` unless each table in a snapshot has the columns of the catalogue. Cells are read by the positions of their columns.
    func checkTables(in snapshot: Snapshot) throws(EngineError) {
        for case let table? in tables {
            let stored = try snapshot.table(table.tree).layout.columns
            let expected = table.layout.columns
            guard stored.count == expected.count, zip(stored, expected).allSatisfy({ $0.id == $1.id && $0.kind == $1.kind }) else {
                throw EngineError(
                    .damaged,
                    "The catalogue contradicts itself: the table of \(table.entity.name) has other columns. Restore the store from a backup.")
            }
        }
    }
}

/// Resolves the names of a catalogue.
private struct SchemaResolver {
    let catalogue: Catalogue
    let model: ManagedObjectModel
    let findsByIndexes: Bool
    let find: Schema.TreeFinder

    func tree(_ name: String) throws(EngineError) -> TreeID {
        guard let id = find(name) else { throw inconsistent("there is no tree “\(name)”") }
        return id
    }

    func inconsistent(_ what: String) -> EngineError {
        EngineError(.damaged, "The catalogue contradicts itself: \(what). Restore the store from a backup.")
    }

    func property(_ name: String, of entity: String) throws(EngineError) -> PropertyDescription {
        guard let property = model.entitiesByName[entity]?.propertiesByName[name] else {
            throw inconsistent("\(entity) has no property “\(name)”")
        }
        return property
    }

    // MARK: Relationships

    func links() throws(EngineError) -> [LinkIndex] {
        var links: [LinkIndex] = []
        for stored in catalogue.relationships { links.append(try link(stored)) }
        return links
    }

    private func link(_ stored: Catalogue.StoredRelationship) throws(EngineError) -> LinkIndex {
        let relationship = try property(stored.name, of: stored.entity)
        guard relationship.isStoredToMany, stored.kind == relationship.linkKind, stored.isOrdered == relationship.isOrdered,
            stored.isPolymorphic == relationship.hasSeveralDestinations
        else { throw inconsistent("“\(stored.name)” of \(stored.entity) is another kind of relationship") }
        return LinkIndex(
            relationship: relationship, kind: stored.kind, isPolymorphic: stored.isPolymorphic,
            members: try tree(stored.membersTree), order: try stored.orderTree.map { (name) throws(EngineError) in try tree(name) },
            reverse: try reverse(of: stored, relationship))
    }

    /// Throws unless each stored to-many relationship of the model has a link.
    func checkCompleteness(of links: [LinkIndex]) throws(EngineError) {
        let linked = Set(links.map { ObjectIdentifier($0.relationship) })
        for entity in model.entities {
            for relationship in entity.relationships where relationship.isStoredToMany {
                guard linked.contains(ObjectIdentifier(relationship)) else {
                    throw inconsistent("“\(relationship.name)” of \(entity.name) has no members")
                }
            }
        }
    }

    private func reverse(
        of stored: Catalogue.StoredRelationship, _ relationship: PropertyDescription
    ) throws(EngineError) -> LinkIndex.Reverse? {
        switch stored.kind {
        case .mirror: return nil
        case .oneWay:
            return LinkIndex.Reverse(
                members: try tree(TreeName.owners(stored.trees ?? stored.number)),
                isPolymorphic: relationship.entity.concreteDescendants.count > 1, order: nil)
        case .mutual:
            guard let inverse = relationship.inverse,
                let other = catalogue.relationships.first(where: {
                    $0.entity == inverse.entity.name && $0.name == inverse.name
                })
            else { throw inconsistent("“\(stored.name)” of \(stored.entity) has no inverse") }
            return LinkIndex.Reverse(
                members: try tree(other.membersTree), isPolymorphic: other.isPolymorphic,
                order: try other.orderTree.map { (name) throws(EngineError) in try tree(name) })
        }
    }

    // MARK: Indexes

    func indexes() throws(EngineError) -> [ValueIndex] {
        var indexes: [ValueIndex] = []
        for stored in catalogue.indexes where stored.name == nil || findsByIndexes { indexes.append(try index(stored)) }
        return indexes
    }

    private func index(_ stored: Catalogue.StoredIndex) throws(EngineError) -> ValueIndex {
        guard let entity = model.entitiesByName[stored.entity] else {
            throw inconsistent("there is no entity “\(stored.entity)”")
        }
        guard !stored.elements.isEmpty else { throw inconsistent("an index of \(stored.entity) has no elements") }
        var elements: [ValueIndex.Element] = []
        for element in stored.elements { elements.append(try self.element(element, entity)) }
        return ValueIndex(
            entity: entity, name: stored.name, elements: elements, isPolymorphic: stored.isPolymorphic,
            tree: try tree(TreeName.index(stored.number, isUnique: stored.name == nil)), number: stored.number,
            condition: try stored.condition.map { (format) throws(EngineError) in try condition(format) })
    }

    private func element(
        _ stored: Catalogue.StoredIndex.Element, _ entity: EntityDescription
    ) throws(EngineError) -> ValueIndex.Element {
        var part = FetchIndexElement(stored.property)
        part.isExpression = stored.isExpression == true
        guard let type = part.keyType(in: entity) else { throw inconsistent("“\(stored.property)” cannot be indexed") }
        let property: PropertyDescription
        let source: ValueIndex.Element.Source
        if part.isExpression, let node = try? FetchExpression(format: stored.property).node {
            property = try self.property(node.rowProperties.min() ?? "", of: entity.name)
            source = .expression(node)
        } else {
            let steps = stored.property.split(separator: ".").map(String.init)
            property = try self.property(steps[0], of: entity.name)
            source = steps.count == 1 ? .cell : .part(Array(steps.dropFirst()))
        }
        return ValueIndex.Element(
            property: property, type: type, isAscending: stored.isAscending, collation: stored.collation, source: source)
    }

    private func condition(_ format: String) throws(EngineError) -> IndexCondition {
        do {
            return IndexCondition(try FetchPredicate(format: format))
        } catch {
            throw inconsistent("the predicate of an index does not parse")
        }
    }

    // MARK: Tables

    func table(
        _ entity: EntityDescription, slot: Int, links: [LinkIndex], indexes: [ValueIndex]
    ) throws(EngineError) -> EntityTable {
        guard let stored = catalogue.entity(named: entity.name) else {
            throw inconsistent("there is no entity “\(entity.name)”")
        }
        let columns = try columns(of: entity)
        let mirrors = columns.compactMap { column -> EntityTable.Mirror? in
            guard let column, let inverse = column.property.inverse, inverse.isToMany else { return nil }
            return links.first { $0.relationship == inverse }.map { EntityTable.Mirror(column: column, link: $0) }
        }
        let free = links.filter { $0.kind != .mirror }
        return EntityTable(
            entity: entity, slot: slot, number: UInt32(stored.number), tree: try tree(stored.tree),
            layout: catalogue.layout(of: entity.name), columns: columns,
            indexes: indexes.filter { entity.isKind(of: $0.entity) }, mirrors: mirrors,
            linksAsOwner: free.filter { entity.isKind(of: $0.relationship.entity) },
            linksAsMember: free.filter { link in
                link.relationship.destinationEntity.map { entity.isKind(of: $0) } ?? false
            })
    }

    private func columns(of entity: EntityDescription) throws(EngineError) -> [StoredColumn?] {
        var columns = [StoredColumn?](repeating: nil, count: entity.properties.count)
        var next = EntityTable.versionColumn + 1
        for stored in catalogue.columns(of: entity.name) {
            let property = try property(stored.name, of: entity.name)
            guard property.cellType == stored.type, property.hasSeveralDestinations == (stored.entityColumn != nil) else {
                throw inconsistent("“\(stored.name)” of \(entity.name) has a column of another type")
            }
            let entityColumn = stored.entityColumn == nil ? -1 : next + 1
            columns[property.index] = StoredColumn(
                property: property, type: stored.type, column: next, entityColumn: entityColumn,
                onlyDestination: property.destinationEntity?.concreteDescendants.first.map { Int32($0.index) } ?? -1,
                destination: property.destinationEntity.map { Int32($0.index) } ?? -1)
            next += stored.entityColumn == nil ? 1 : 2
        }
        if let property = entity.properties.first(where: { $0.cellType != nil && columns[$0.index] == nil }) {
            throw inconsistent("“\(property.name)” of \(entity.name) has no column")
        }
        return columns
    }
}

/// The names of the trees. The numbers are those of the catalogue.
enum TreeName {
    static func rows(_ number: Int) -> String { "rows/\(number)" }
    static func members(_ number: Int) -> String { "members/\(number)" }
    static func owners(_ number: Int) -> String { "owners/\(number)" }
    static func order(_ number: Int) -> String { "order/\(number)" }
    static func index(_ number: Int, isUnique: Bool) -> String { (isUnique ? "unique/" : "index/") + "\(number)" }
    /// The name of the stored value that marks an index with truncated keys.
    static func truncatedKeysMark(_ tree: String) -> String { "cut" + tree[(tree.lastIndex(of: "/") ?? tree.startIndex)...] }
}

extension Catalogue {
    /// The columns of an entity's table: the version, then attributes and to-ones, inherited ones first.
    func layout(of entity: String) -> ColumnLayout {
        var columns = [Column(id: EntityTable.versionColumnID, kind: .fixed4)]
        for stored in self.columns(of: entity) {
            columns.append(Column(id: ColumnID(UInt32(stored.number)), kind: stored.type.columnKind))
            if let number = stored.entityColumn {
                columns.append(Column(id: ColumnID(UInt32(number)), kind: .fixed4))
            }
        }
        return ColumnLayout(columns: columns)
    }
}
