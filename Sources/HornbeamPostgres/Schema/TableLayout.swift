#if Postgres
internal import HornbeamModel

/// The columns of `_id`, `_entity` and `_version`, which every table has, and the columns of the properties.
///
/// A root entity and its subentities share a table, so that a relationship to a superentity refers to one table.
final class TableLayout: Sendable {
    final class Column: Sendable {
        let property: PropertyDescription
        /// The quoted name.
        let name: String
        let type: ColumnType
        /// The quoted name of the column with the entity of a to-one's destination; nil if only one entity is possible.
        let entityName: String?
        /// True for dates in an existing column of times; own columns have numbers.
        let isTimestamp: Bool

        init(_ property: PropertyDescription, name: String, type: ColumnType, entityName: String? = nil, isTimestamp: Bool = false) {
            self.property = property
            self.name = name
            self.type = type
            self.entityName = entityName
            self.isTimestamp = isTimestamp
        }

        /// The value in a row, as the type of the attribute is stored in own columns.
        func value(of row: String) -> String {
            isTimestamp ? "(extract(epoch FROM \(row).\(name)) - 978307200)::double precision" : "\(row).\(name)"
        }

        /// The value in a row that `QueryResult` reads, also in a binary result.
        func result(of row: String) -> String { type == .numeric ? value(of: row) + "::text" : value(of: row) }

        /// The type of parameters for the column.
        var parameterType: String { isTimestamp ? hasTimeZone ? "timestamptz" : "timestamp" : type.sql }

        /// False for times without a time zone. A cast between the two types of times would use the zone of the session.
        var hasTimeZone: Bool { property.userInfo[TableMapping.type] != "timestamp" }

        /// The text of a parameter for the column.
        func text(of value: PropertyValue) throws -> String? {
            guard isTimestamp, case .date(let date) = value else { return try ColumnValue.text(of: value, property.attributeType) }
            return try ColumnValue.timestamp(date, property)
        }
    }

    let root: EntityDescription
    /// The quoted name, with the schema.
    let name: String
    /// The quoted name, without the schema.
    let ownName: String
    /// True for a table that existed before the store.
    let isMapped: Bool
    /// The quoted name of the column with the key.
    let id: String
    /// The quoted name of the column with the version.
    let version: String
    /// The quoted name of the column with the entity; nil if all rows have the same one.
    let kind: String?
    let columns: [Column]
    /// The column of the shard key; nil without one.
    let shard: Column?
    /// Indexes in `columns`, by index of the property in each entity.
    private let places: [String: [String: Int]]
    /// To-many relationships whose members a row contains.
    let lists: [PropertyDescription]
    /// The statements that insert one row, by entity; none for an existing table, whose columns can have defaults.
    let insertions: [String: RowInsertion]

    init(_ root: EntityDescription, in schema: String) throws {
        self.root = root
        let mapped = try TableMapping.name(root.userInfo, in: schema)
        isMapped = mapped != nil
        ownName = try Self.identifier(root.name)
        name = mapped ?? schema + "." + ownName
        id = isMapped ? try Self.identifier(root.userInfo[TableMapping.key] ?? "id") : "_id"
        version = isMapped ? try Self.identifier(root.userInfo[TableMapping.version] ?? "_version") : "_version"
        kind = isMapped ? try root.userInfo[TableMapping.entity].map(Self.identifier) : "_entity"
        var columns: [Column] = []
        var lists: [PropertyDescription] = []
        var places: [String: [String: Int]] = [:]
        let entities = Self.family(root)
        var places2: [PropertyDescription: Int] = [:]
        for entity in entities {
            for property in entity.properties where !property.isTransient && !property.isDerived {
                if property.isToMany {
                    if !lists.contains(where: { $0 === property }), JoinTable.isListed(property) { lists.append(property) }
                    // Also the name of the column with the order.
                    if property.isOrdered { _ = try Self.identifier(property.name + ".order") }
                    continue
                }
                if places2[property] == nil {
                    places2[property] = columns.count
                    columns.append(try Self.column(property, isShared: entities.contains { Self.declares($0, property) }, isMapped: isMapped))
                }
                places[entity.name, default: [:]][property.name] = places2[property]
            }
        }
        self.columns = columns
        self.lists = lists
        self.places = places
        shard = try Self.shard(of: root, columns)
        var insertions: [String: RowInsertion] = [:]
        for entity in entities where !isMapped && !entity.isAbstract {
            let own = CustomStoreTable(of: entity).properties.compactMap { places[entity.name]?[$0.name].map { columns[$0] } }
            insertions[entity.name] = RowInsertion(into: name, of: entity, own)
        }
        self.insertions = insertions
        if isMapped { try TableMapping.check(self) }
    }

    private static func shard(of root: EntityDescription, _ columns: [Column]) throws -> Column? {
        guard let name = root.userInfo[TableMapping.shard] else { return nil }
        let types: [ColumnType] = [.smallint, .integer, .bigint, .text, .uuid]
        if let property = root.attributesByName[name], !property.isOptional, let column = columns.first(where: { $0.property === property }),
            types.contains(column.type), property.attributeType != .composite
        {
            return column
        }
        throw HornbeamError(
            .modelMismatch, "The shard key \(root.name).\(name) is no stored attribute of \(root.name) that is an integer, a text or a UUID and not optional.",
            entity: root.name, key: name)
    }

    /// The entity of a row with an alias, or of the rows of a statement without one.
    func entity(of alias: String? = nil) -> String {
        guard let kind else { return SQLText.literal(root.concreteDescendants.first?.name ?? "") + "::text" }
        return alias.map { "\($0).\(kind)" } ?? kind
    }

    /// The entities of a table.
    static func family(_ root: EntityDescription) -> [EntityDescription] { [root] + root.subentities.flatMap(family) }

    /// True if an entity has another property with the same name, for which the table needs another column.
    private static func declares(_ entity: EntityDescription, _ property: PropertyDescription) -> Bool {
        entity.propertiesByName[property.name].map { $0 !== property } ?? false
    }

    private static let ownColumns: Set = ["_id", "_entity", "_version"]
    /// The columns that the server gives to each table.
    private static let systemColumns: Set = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"]

    private static func column(_ property: PropertyDescription, isShared: Bool, isMapped: Bool) throws -> Column {
        let own = isShared ? "\(property.entity.name).\(property.name)" : property.name
        let name = isMapped ? property.userInfo[TableMapping.column] ?? own : own
        guard !ownColumns.contains(name), !systemColumns.contains(name) else {
            throw HornbeamError(
                .modelMismatch, "The property \(property.entity.name).\(name) has the name of a column that each table has in PostgreSQL. Rename it.",
                entity: property.entity.name, key: property.name)
        }
        guard property.isRelationship else {
            guard let type = ColumnType(property.attributeType) else {
                throw HornbeamError(
                    .modelMismatch, "The attribute \(property.entity.name).\(name) has no type, so the PostgreSQL store cannot store it.",
                    entity: property.entity.name, key: property.name)
            }
            let isTimestamp = isMapped && property.attributeType == .date && property.userInfo[TableMapping.type]?.hasPrefix("timestamp") == true
            return Column(property, name: try identifier(name), type: type, isTimestamp: isTimestamp)
        }
        let isPolymorphic = (property.destinationEntity?.concreteDescendants.count ?? 0) > 1
        return Column(property, name: try identifier(name), type: .bigint, entityName: isPolymorphic ? try identifier(name + ".entity") : nil)
    }

    /// The name in quotation marks.
    ///
    /// - Throws: `modelMismatch` for a name that PostgreSQL would shorten.
    static func identifier(_ name: String) throws -> String {
        guard name.utf8.count <= SQLText.nameBytesMax, !name.utf8.contains(0), !name.isEmpty else {
            throw HornbeamError(
                .modelMismatch, "The name “\(name)” cannot be a name in PostgreSQL, which allows 1 to \(SQLText.nameBytesMax) bytes. Shorten it.")
        }
        return SQLText.name(name)
    }

    /// The column of an entity's property; nil for properties without one.
    func column(_ name: String, of entity: String) -> Column? { places[entity]?[name].map { columns[$0] } }

    /// The columns of an entity, in the order of the table.
    func columns(of entity: EntityDescription) -> [Column] {
        let own = Set((places[entity.name] ?? [:]).values)
        return columns.indices.filter(own.contains).map { columns[$0] }
    }
}

/// The statement that inserts one row into one of the store's own tables: its key, then the values of its columns, and the entities of their destinations.
struct RowInsertion: Sendable {
    private let sql: String
    private let columns: [TableLayout.Column]

    /// - Parameter columns: The columns of the entity, in the order of a `CustomStoreTable`.
    init(into table: String, of entity: EntityDescription, _ columns: [TableLayout.Column]) {
        self.columns = columns
        let parts = columns.flatMap { column in [(column.name, column.parameterType)] + (column.entityName.map { [($0, "text")] } ?? []) }
        let names = parts.map { ", \($0.0)" }.joined()
        let values = parts.enumerated().map { ", $\($0 + 2)::\($1.1)" }.joined()
        sql = "INSERT INTO \(table) (_id, _entity, _version\(names)) VALUES ($1::bigint, \(SQLText.literal(entity.name)), 1\(values))"
    }

    /// Inserts the first row of a table.
    func statement(_ table: CustomStoreTable) throws -> Statement {
        var values: [String?] = [String(table.keys[0])]
        var destination = 0
        for (place, column) in columns.enumerated() {
            values.append(try column.text(of: table.values.propertyValue(table.values[place])))
            guard column.property.isRelationship else { continue }
            if column.entityName != nil { values.append(table.destination(destination)?.name) }
            destination += 1
        }
        return Statement(sql, values)
    }
}

/// The table with the members of a to-many relationship without a to-one inverse: pairs of a source and a target.
struct JoinTable: Sendable {
    /// The relationship whose owners are the sources.
    let relationship: PropertyDescription
    let name: String
    /// True for a table that existed before the store. It has no columns for the order.
    let isMapped: Bool
    /// The quoted names of the columns with the keys.
    let source: String
    let target: String
    /// The shard key of the sources, whose value is in the column `shardColumn`; nil without one.
    let shard: TableLayout.Column?
    static let shardColumn = "\"shard\""

    /// ` AND j.shard = t.tenant` for a pair and a row.
    func sameShard(_ pair: String, _ table: TableLayout, _ row: String) -> String {
        guard shard != nil, let column = table.shard else { return "" }
        return " AND \(pair).\(Self.shardColumn) = \(row).\(column.name)"
    }

    /// The beginning of the list of columns of an index.
    var key: String { shard == nil ? "" : "\(Self.shardColumn), " }

    /// - Parameter shard: The shard key of both ends.
    init(_ relationship: PropertyDescription, shard: TableLayout.Column?, in schema: String) throws {
        self.relationship = relationship
        self.shard = shard
        let mapping = TableMapping.join(relationship)
        isMapped = mapping != nil
        name = try mapping.flatMap { try TableMapping.name($0.userInfo, in: schema) }
            ?? schema + "." + (try TableLayout.identifier("\(relationship.entity.name).\(relationship.name)"))
        let first = try mapping.map { try TableLayout.identifier($0.userInfo[TableMapping.source] ?? "source") } ?? "source"
        let second = try mapping.map { try TableLayout.identifier($0.userInfo[TableMapping.target] ?? "target") } ?? "target"
        (source, target) = mapping?.isSource == false ? (second, first) : (first, second)
        if isMapped, relationship.isOrdered || relationship.inverse?.isOrdered == true || relationship.inverse === relationship {
            throw HornbeamError(
                .modelMismatch,
                "\(relationship.entity.name).\(relationship.name) is ordered or its own inverse, which the existing table \(name) cannot store.",
                entity: relationship.entity.name, key: relationship.name)
        }
        guard relationship.isOrdered && relationship.inverse === relationship else { return }
        throw HornbeamError(
            .modelMismatch,
            "\(relationship.entity.name).\(relationship.name) is ordered and its own inverse, which the PostgreSQL store does not support.",
            entity: relationship.entity.name, key: relationship.name)
    }

    /// True if each member's to-one refers to the owner, so that there is no join table.
    static func followsToOne(_ relationship: PropertyDescription) -> Bool { relationship.inverse.map { !$0.isToMany } ?? false }

    /// True if the rows of owners contain the members: ordered relationships, and one of each pair without a to-one.
    static func isListed(_ relationship: PropertyDescription) -> Bool {
        relationship.isOrdered || !followsToOne(relationship) && isSource(relationship)
    }

    /// True if the owners of the relationship are the sources of its join table; false if they are the targets.
    static func isSource(_ relationship: PropertyDescription) -> Bool {
        guard let inverse = relationship.inverse, inverse !== relationship else { return true }
        return (relationship.entity.name, relationship.name) <= (inverse.entity.name, inverse.name)
    }
}
#endif
