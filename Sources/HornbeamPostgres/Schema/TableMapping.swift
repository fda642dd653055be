#if Postgres
internal import HornbeamModel

/// The names of an existing table and its columns, from the user info of a model.
///
/// | key | of | value |
/// |---|---|---|
/// | `postgres.table` | a root entity | the table, with its schema if it is another one than the store's: `shop.authors` |
/// | `postgres.key` | a root entity | the column of the key; default `id` |
/// | `postgres.version` | a root entity | the column of the version; default `_version` |
/// | `postgres.entity` | a root entity with subentities | the column with the name of each row's entity |
/// | `postgres.column` | an attribute or a to-one | the column; default the name of the property |
/// | `postgres.type` | a date attribute | `timestamptz` or `timestamp` |
/// | `postgres.table`, `postgres.source`, `postgres.target` | one end of a many-to-many relationship | the join table, and its columns |
enum TableMapping {
    static let table = "postgres.table"
    static let key = "postgres.key"
    static let version = "postgres.version"
    static let entity = "postgres.entity"
    static let column = "postgres.column"
    static let type = "postgres.type"
    static let source = "postgres.source"
    static let target = "postgres.target"
    /// Of a root entity: the attribute that is the shard key.
    static let shard = "postgres.shard"

    /// The quoted name of an existing table; nil if the store makes the table.
    static func name(_ userInfo: [String: String], in schema: String) throws -> String? {
        guard let text = userInfo[table] else { return nil }
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let names = try parts.map(TableLayout.identifier)
        return names.count == 2 ? names.joined(separator: ".") : schema + "." + names[0]
    }

    /// A user info of a to-many relationship or its inverse that names a join table.
    static func join(_ relationship: PropertyDescription) -> (userInfo: [String: String], isSource: Bool)? {
        if relationship.userInfo[table] != nil { return (relationship.userInfo, true) }
        guard let inverse = relationship.inverse, inverse.userInfo[table] != nil else { return nil }
        return (inverse.userInfo, false)
    }

    /// Refuses what an existing table cannot have.
    static func check(_ table: TableLayout) throws {
        func refuse(_ text: String, _ property: PropertyDescription?) -> HornbeamError {
            HornbeamError(.modelMismatch, text, entity: property?.entity.name ?? table.root.name, key: property?.name)
        }
        if table.kind == nil, table.root.concreteDescendants.count > 1 {
            throw refuse(
                "\(table.root.name) has subentities and is in the existing table \(table.name). Name the column with the entity of each row: "
                    + "userInfo[\"\(entity)\"].", nil)
        }
        if let list = table.lists.first(where: \.isOrdered) {
            throw refuse("\(list.entity.name).\(list.name) is ordered. The existing table \(table.name) has no column for the order; make it unordered.", list)
        }
        if let column = table.columns.first(where: { $0.entityName != nil }) {
            throw refuse(
                "\(column.property.entity.name).\(column.property.name) refers to objects of several entities, which one column of the existing table "
                    + "\(table.name) does not tell apart.", column.property)
        }
        var own: Set<String> = []
        for name in [table.id, table.version] + (table.kind.map { [$0] } ?? []) where !own.insert(name).inserted {
            throw refuse("The column \(name) of the existing table \(table.name) is two of: the key, the version, the entity. Map each column once.", nil)
        }
        // Subentities can share the column of an attribute, of which each row has the value for its own entity.
        for family in TableLayout.family(table.root) {
            var names = own
            for column in table.columns(of: family) where !names.insert(column.name).inserted {
                throw refuse(
                    "\(column.property.entity.name).\(column.property.name) has the column \(column.name) of the existing table \(table.name), which is also "
                        + "the key, the version, the entity or another property. Map each column once.", column.property)
            }
        }
        // All rows with the key of an object in the column of a relationship are members of its inverse.
        for column in table.columns where column.property.isRelationship {
            guard let other = table.columns.first(where: { $0.name == column.name && $0.property !== column.property }) else { continue }
            throw refuse(
                "\(column.property.entity.name).\(column.property.name) has the column \(column.name) of the existing table \(table.name), which "
                    + "\(other.property.entity.name).\(other.property.name) has too. Subentities can share columns of attributes only: declare the "
                    + "relationship in their superentity.", column.property)
        }
    }
}

extension StoreLayout {
    /// - Throws: `modelMismatch` if two entities or relationships have one table. Their objects would have equal keys.
    static func requireDistinctNames(_ tables: [TableLayout], _ joins: [JoinTable]) throws {
        var names: Set<String> = []
        func require(_ name: String, _ entity: EntityDescription, _ relationship: PropertyDescription? = nil) throws {
            if names.insert(name).inserted { return }
            throw HornbeamError(
                .modelMismatch, "The table \(name) belongs to two entities or relationships of the model. Map each table once.", entity: entity.name,
                key: relationship?.name)
        }
        for table in tables { try require(table.name, table.root) }
        for join in joins { try require(join.name, join.relationship.entity, join.relationship) }
    }

    /// True if a table or a join table existed before the store.
    var hasMappedTables: Bool { tables.contains(where: \.isMapped) || joins.contains(where: \.isMapped) }

    /// The tables in an order in which each table comes after those to which it refers, as far as there is one.
    var tablesByDependency: [TableLayout] {
        var (order, seen): ([TableLayout], Set<String>) = ([], [])
        func visit(_ table: TableLayout) {
            guard seen.insert(table.name).inserted else { return }
            for column in table.columns where column.property.isRelationship {
                if let destination = try? self.table(of: column.property.destinationEntity?.name ?? "") { visit(destination) }
            }
            order.append(table)
        }
        tables.forEach(visit)
        return order
    }
}
#endif
