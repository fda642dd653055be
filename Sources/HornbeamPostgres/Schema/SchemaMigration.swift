#if Postgres
internal import Foundation
internal import HornbeamModel

/// Migrates the tables of a store to another version of the model, in the transaction of the caller.
///
/// The old tables are renamed, the new ones are made and filled from them, then the old ones are dropped. After an error the caller rolls back, and
/// all is as before.
struct SchemaMigration {
    private let mapping: MappingModel
    private let old: StoreLayout
    private let new: StoreLayout
    private let connection: Connection
    /// The new names of old entities.
    private let entityNames: [String: String]

    /// - Throws: `inferredMappingFailed` if the mapping cannot be inferred.
    init(from old: StoreLayout, to new: StoreLayout, _ connection: Connection) throws {
        mapping = try MappingModel.inferred(from: old.model, to: new.model)
        self.old = old
        self.new = new
        self.connection = connection
        entityNames = Dictionary(
            mapping.entityMappings.compactMap { entity in
                entity.sourceEntityName.flatMap { source in entity.destinationEntityName.map { (source, $0) } }
            }) { first, _ in first }
    }

    func run() throws {
        var renamed: [String: String] = [:]
        try checkExistingTables()
        guard !old.isSharded && !new.isSharded else {
            throw HornbeamError(
                .unsupportedRequest, "The PostgreSQL store does not migrate tables with shard keys by SQL. Migrate with a plan that has a stage with code.")
        }
        let made = old.tables.filter { !$0.isMapped }.map(\.name) + old.joins.filter { !$0.isMapped }.map(\.name)
        for (number, name) in made.enumerated() {
            let temporary = "_hornbeam_old_\(number)"
            try connection.execute(Statement("ALTER TABLE \(name) RENAME TO \(SQLText.name(temporary))"))
            renamed[name] = "\(old.schema).\(SQLText.name(temporary))"
        }
        for statement in new.tableCreation { try connection.execute(Statement(statement)) }
        for entity in mapping.entityMappings { try copyRows(entity, renamed) }
        for join in new.joins where !join.isMapped { try copyPairs(join, renamed) }
        if mapping.entityMappings.contains(where: { $0.kind == .remove }) { try clearLostReferences() }
        for name in renamed.values.sorted() { try connection.execute(Statement("DROP TABLE \(name)")) }
    }

    /// Rows of existing tables stay where they are.
    private func checkExistingTables() throws {
        for entity in mapping.entityMappings {
            guard let source = entity.sourceEntityName, let name = entity.destinationEntityName else { continue }
            let (from, to) = (try old.table(of: source), try new.table(of: name))
            guard from.isMapped != to.isMapped || from.isMapped && from.name != to.name else { continue }
            throw HornbeamError(
                .unsupportedRequest,
                "\(name) moves between an existing table and another one. The PostgreSQL store moves no rows of existing tables. Copy them in the app.",
                entity: name)
        }
    }

    // MARK: Rows

    private func copyRows(_ entity: EntityMapping, _ renamed: [String: String]) throws {
        guard let sourceName = entity.sourceEntityName, let name = entity.destinationEntityName else { return }
        let source = try old.model.entity(named: sourceName)
        let destination = try new.model.entity(named: name)
        if source.isAbstract || destination.isAbstract { return }
        let (from, to) = (try old.table(of: sourceName), try new.table(of: name))
        if to.isMapped { return }
        var parameters = ParameterList()
        var columns = ["_id", "_entity", "_version"]
        var values = ["o._id", parameters.add(name, as: "text"), "o._version"]
        for column in to.columns(of: destination) {
            let found = try sourceColumn(of: column.property, entity, source, from)
            columns.append(column.name)
            values.append(try value(of: column, found, entity, &parameters))
            guard let entityColumn = column.entityName else { continue }
            columns.append(entityColumn)
            values.append(try destinationName(found, &parameters))
        }
        for list in to.lists where JoinTable.followsToOne(list) && destination.propertiesByName[list.name] === list {
            guard case .property(let oldName)? = entity.mapping(ofPropertyNamed: list.name)?.source, let before = source.propertiesByName[oldName],
                before.isOrdered, JoinTable.followsToOne(before)
            else { continue }
            columns.append(StoreLayout.orderColumn(list))
            values.append("o." + StoreLayout.orderColumn(before))
        }
        guard let table = renamed[from.name] else { return }
        try connection.execute(
            Statement(
                """
                INSERT INTO \(to.name) (\(columns.joined(separator: ", "))) SELECT \(values.joined(separator: ", ")) FROM \(table) o \
                WHERE o._entity = \(parameters.add(sourceName, as: "text"))
                """, parameters.values))
    }

    /// The old column of a property; nil for a new one.
    ///
    /// - Throws: `unsupportedRequest` for a change of the stored form.
    private func sourceColumn(
        of property: PropertyDescription, _ entity: EntityMapping, _ source: EntityDescription, _ table: TableLayout
    ) throws -> TableLayout.Column? {
        switch entity.mapping(ofPropertyNamed: property.name)?.source {
        case .property(let name):
            guard let before = source.propertiesByName[name], !before.isToMany, let column = table.column(name, of: source.name),
                property.attributeType != .composite || !CompositeMatch(from: before, to: property).changesValues
            else { throw unsupported(property) }
            return column
        case .defaultValue, .empty: return nil
        default: throw unsupported(property)
        }
    }

    private func value(
        of column: TableLayout.Column, _ source: TableLayout.Column?, _ entity: EntityMapping, _ parameters: inout ParameterList
    ) throws -> String {
        let property = column.property
        guard property.isAttribute else { return source.map { "o.\($0.name)" } ?? "NULL" }
        let standard = try ColumnValue.text(of: try property.coerced(property.defaultValue), property.attributeType)
        guard let source else { return parameters.add(standard, as: column.type.sql) }
        guard !property.isOptional, source.property.isOptional else { return "o.\(source.name)" }
        return "COALESCE(o.\(source.name), \(parameters.add(standard, as: column.type.sql)))"
    }

    /// The new name of the entity of a to-one's destination.
    private func destinationName(_ source: TableLayout.Column?, _ parameters: inout ParameterList) throws -> String {
        guard let source else { return "NULL" }
        guard let stored = source.entityName else {
            let only = source.property.destinationEntity?.concreteDescendants.first?.name ?? ""
            return "CASE WHEN o.\(source.name) IS NOT NULL THEN \(parameters.add(entityNames[only], as: "text")) END"
        }
        let cases = entityNames.sorted { $0.key < $1.key }.map { before, after in
            "WHEN \(parameters.add(before, as: "text")) THEN \(parameters.add(after, as: "text"))"
        }
        return "CASE o.\(stored) \(cases.joined(separator: " ")) END"
    }

    // MARK: Relationships

    private func copyPairs(_ join: JoinTable, _ renamed: [String: String]) throws {
        let property = join.relationship
        guard let before = try sourceRelationship(of: property) else { return }
        guard let table = old.join(of: before).flatMap({ renamed[$0.name] }) else { throw unsupported(property) }
        let isSame = JoinTable.isSource(before)
        try connection.execute(
            Statement(
                """
                INSERT INTO \(join.name) (source, target, source_place, target_place) \
                SELECT \(isSame ? "source, target, source_place, target_place" : "target, source, target_place, source_place") FROM \(table)
                """))
    }

    /// The old relationship with the members of a new one, which is nil if it is empty.
    private func sourceRelationship(of property: PropertyDescription) throws -> PropertyDescription? {
        let name = property.entity.name
        guard let entity = mapping.mapping(toEntityNamed: name), let sourceName = entity.sourceEntityName else { return nil }
        switch entity.mapping(ofPropertyNamed: property.name)?.source {
        case .property(let before): return try old.model.entity(named: sourceName).property(named: before)
        case .empty, nil: return nil
        default: throw unsupported(property)
        }
    }

    /// Removes references to objects of removed entities.
    private func clearLostReferences() throws {
        for table in new.tables where !table.isMapped {
            for column in table.columns where column.property.isRelationship {
                let destination = try new.table(of: column.property.destinationEntity?.name ?? "")
                let sets = ([column.name] + (column.entityName.map { [$0] } ?? [])).map { "\($0) = NULL" }.joined(separator: ", ")
                try connection.execute(
                    Statement(
                        """
                        UPDATE \(table.name) t SET \(sets) WHERE t.\(column.name) IS NOT NULL \
                        AND NOT EXISTS (SELECT FROM \(destination.name) d WHERE d.\(destination.id) = t.\(column.name))
                        """))
            }
        }
        for join in new.joins where !join.isMapped {
            let ends = [(join.relationship.entity.name, "source"), (join.relationship.destinationEntity?.name ?? "", "target")]
            for (entity, column) in ends {
                let table = try new.table(of: entity)
                try connection.execute(
                    Statement("DELETE FROM \(join.name) j WHERE NOT EXISTS (SELECT FROM \(table.name) d WHERE d.\(table.id) = j.\(column))"))
            }
        }
    }

    private func unsupported(_ property: PropertyDescription) -> HornbeamError {
        HornbeamError(
            .unsupportedRequest,
            "\(property.entity.name).\(property.name) is stored in another form in the new model. The PostgreSQL store migrates unchanged, new, renamed "
                + "and removed properties only. Give the new property another name, and copy the values in the app.",
            entity: property.entity.name, key: property.name)
    }
}
#endif
