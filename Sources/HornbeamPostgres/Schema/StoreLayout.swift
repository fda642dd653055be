#if Postgres
internal import Foundation
internal import HornbeamModel

/// The tables of a model in a schema of a database.
struct StoreLayout: Sendable {
    let model: ManagedObjectModel
    /// The identity of the store, which is known when it is open.
    var identifier: UUID?
    /// The quoted name of the schema.
    let schema: String
    let tables: [TableLayout]
    let joins: [JoinTable]
    let uniques: [UniqueColumns]
    /// True to check unique values at the end of transactions.
    let defersConstraints: Bool
    /// The numbers of existing tables, by the names of the tables. Known when the store is open.
    var tableNumbers: [String: UInt64] = [:]
    /// The sequences of the keys of existing tables, by the names of the tables. Known when the store is open.
    var keySequences: [String: String] = [:]
    /// The shard keys of the rows that were read.
    let shards = ShardMap()
    private let tablesByEntity: [String: Int]
    private let joinsByRelationship: [PropertyDescription: Int]

    init(_ model: ManagedObjectModel, schema name: String, defersConstraints: Bool = true) throws {
        self.model = model
        self.defersConstraints = defersConstraints
        schema = try TableLayout.identifier(name)
        // Names of channels are as long as names of tables. Saves in schemas with the same beginning share a channel.
        channel = String(decoding: "hornbeam \(name)".utf8.prefix(SQLText.nameBytesMax - 3), as: UTF8.self)
        var tables: [TableLayout] = []
        var joins: [JoinTable] = []
        var tablesByEntity: [String: Int] = [:]
        var joinsByRelationship: [PropertyDescription: Int] = [:]
        for entity in model.entities { try Self.checkName(of: entity) }
        for root in model.entities where root.superentity == nil {
            for entity in TableLayout.family(root) { tablesByEntity[entity.name] = tables.count }
            tables.append(try TableLayout(root, in: schema))
        }
        for entity in model.entities {
            for property in entity.properties where property.entity === entity && property.isToMany && !property.isTransient {
                guard !JoinTable.followsToOne(property), JoinTable.isSource(property) else { continue }
                joinsByRelationship[property] = joins.count
                if let inverse = property.inverse { joinsByRelationship[inverse] = joins.count }
                let shard = tablesByEntity[property.entity.name].flatMap { tables[$0].shard }
                joins.append(try JoinTable(property, shard: shard, in: schema))
            }
        }
        try Self.requireDistinctNames(tables, joins)
        uniques = try model.entities.flatMap { entity in
            try entity.uniquenessConstraints.filter { $0.entity === entity }.compactMap { constraint in
                guard !entity.concreteDescendants.isEmpty, let table = tablesByEntity[entity.name] else { return nil }
                return try Self.unique(constraint, tables[table])
            }
        }
        self.tables = tables
        self.joins = joins
        self.tablesByEntity = tablesByEntity
        self.joinsByRelationship = joinsByRelationship
        try checkShards()
    }

    /// - Throws: `modelMismatch` for a name that the store's own tables can have.
    private static func checkName(of entity: EntityDescription) throws {
        guard entity.name.hasPrefix("_hornbeam") else { return }
        throw HornbeamError(
            .modelMismatch, "The name of the entity “\(entity.name)” begins with “_hornbeam”, as the store's own tables do. Rename the entity.",
            entity: entity.name)
    }

    /// The table of an entity.
    func table(of entity: String) throws -> TableLayout {
        guard let place = tablesByEntity[entity] else {
            throw HornbeamError(.unknownEntity, "The PostgreSQL store has no entity “\(entity)”.", entity: entity)
        }
        return tables[place]
    }

    /// The join table of a to-many relationship; nil if the members' to-one defines it.
    func join(of relationship: PropertyDescription) -> JoinTable? { joinsByRelationship[relationship].map { joins[$0] } }

    // MARK: The store's own tables

    var settings: String { schema + ".\"_hornbeam\"" }
    var saves: String { schema + ".\"_hornbeam_saves\"" }
    var history: HistoryTables { HistoryTables(schema: schema) }
    /// The channel on which saves are announced.
    let channel: String
    var keys: String { schema + ".\"_hornbeam_keys\"" }

    /// The number of keys in a block of the sequence.
    static let keyBlock = 256

    /// The statements that make the tables. Names are quoted; there are no values.
    var creation: [String] {
        var statements = [
            "CREATE TABLE \(settings) (name text PRIMARY KEY, value text NOT NULL)",
            "CREATE SEQUENCE \(keys) INCREMENT BY \(Self.keyBlock) MINVALUE 1 MAXVALUE \(1 << 48 - Self.keyBlock)",
            """
            CREATE TABLE \(saves) (token uuid PRIMARY KEY, source uuid NOT NULL, transaction xid8 NOT NULL DEFAULT pg_current_xact_id(), \
            saved_at timestamptz NOT NULL DEFAULT now(), author text, context text, changed text, deleted text)
            """,
            "CREATE INDEX ON \(saves) (transaction)",
        ]
        statements += tableCreation
        return statements
    }

    /// The statements that make the tables of the entities and relationships.
    var tableCreation: [String] {
        var statements: [String] = []
        for table in tables where !table.isMapped {
            let columns = table.columns.flatMap { column in
                ["\(column.name) \(column.type.definition)"] + (column.entityName.map { ["\($0) text"] } ?? [])
            }
            let key = table.shard.map { "PRIMARY KEY (\($0.name), _id)" } ?? "PRIMARY KEY (_id)"
            let own = ["_id bigint NOT NULL", "_entity text NOT NULL", "_version bigint NOT NULL"] + columns + orderColumns(table) + [key]
            statements.append("CREATE TABLE \(table.name) (\(own.joined(separator: ", ")))")
            for column in table.columns where column.property.isRelationship {
                statements.append("CREATE INDEX ON \(table.name) (\(table.shard.map { "\($0.name), " } ?? "")\(column.name))")
            }
        }
        for join in joins where !join.isMapped {
            statements.append(
                """
                CREATE TABLE \(join.name) (\(join.shard.map { "\(JoinTable.shardColumn) \($0.type.definition) NOT NULL, " } ?? "")source bigint NOT NULL, \
                target bigint NOT NULL, source_place int, target_place int, PRIMARY KEY (\(join.key)source, target))
                """)
            statements.append("CREATE INDEX ON \(join.name) (\(join.key)target)")
        }
        return statements + constraints
    }

    /// An ordered relationship with a to-one inverse has an array of keys in the owner's row. Subentities share the columns of relationships with one name.
    private func orderColumns(_ table: TableLayout) -> [String] {
        Set(table.lists.filter(JoinTable.followsToOne).map(Self.orderColumn)).sorted().map { "\($0) bigint[]" }
    }

    static func orderColumn(_ relationship: PropertyDescription) -> String { SQLText.name(relationship.name + ".order") }

    /// The unique constraints. Objects without one of the values do not conflict.
    private var constraints: [String] {
        uniques.filter { !$0.table.isMapped }.map { unique in
            let columns = unique.columns.joined(separator: ", ")
            guard unique.coversTable else {
                // Rows of other entities in the table have the columns too.
                let names = unique.entity.concreteDescendants.map { SQLText.literal($0.name) }.joined(separator: ", ")
                let elements = unique.columns.map { "\($0) WITH =" }.joined(separator: ", ")
                guard defersConstraints else { return "CREATE UNIQUE INDEX ON \(unique.table.name) (\(columns)) WHERE _entity IN (\(names))" }
                return """
                    ALTER TABLE \(unique.table.name) ADD EXCLUDE USING btree (\(elements)) WHERE (_entity IN (\(names))) \
                    DEFERRABLE INITIALLY DEFERRED
                    """
            }
            // Deferred, so that objects can exchange their values in one save.
            return "ALTER TABLE \(unique.table.name) ADD UNIQUE (\(columns))\(defersConstraints ? " DEFERRABLE INITIALLY DEFERRED" : "")"
        }
    }

    private static func unique(_ constraint: UniquenessConstraint, _ table: TableLayout) throws -> UniqueColumns {
        let columns = try constraint.elements.map { element in
            guard element.compositeSteps.isEmpty, let column = table.column(element.property.name, of: constraint.entity.name) else {
                throw HornbeamError(
                    .modelMismatch,
                    "The unique value \(constraint.entity.name).\(element) is derived or part of a composite, so PostgreSQL has no column for it.",
                    entity: constraint.entity.name, key: element.property.name)
            }
            return column
        }
        let isOwn = constraint.entity === table.root || columns.contains { $0.property.entity === constraint.entity }
        return UniqueColumns(
            entity: constraint.entity, table: table, names: columns.map(\.property.name), columns: columns.map(\.name), coversTable: isOwn)
    }
}

/// A combination of columns that is unique.
struct UniqueColumns: Sendable {
    let entity: EntityDescription
    let table: TableLayout
    /// The names of the properties.
    let names: [String]
    /// The quoted names of the columns.
    let columns: [String]
    /// True if rows of other entities in the table have no value in one of the columns, or there are none.
    let coversTable: Bool
}
#endif
