#if Postgres
internal import HornbeamModel

/// The columns of `_id`, `_entity` and `_version`, which every table has, and the columns of the properties.
///
/// A root entity and its subentities share a table, so that a relationship to a superentity refers to one table.
struct TableLayout: Sendable {
    struct Column: Sendable {
        let property: PropertyDescription
        /// The quoted name.
        let name: String
        let type: ColumnType
        /// The quoted name of the column with the entity of a to-one's destination; nil if only one entity is possible.
        var entityName: String?
    }

    let root: EntityDescription
    /// The quoted name, with the schema.
    let name: String
    /// The quoted name, without the schema.
    let ownName: String
    let columns: [Column]
    /// Indexes in `columns`, by index of the property in each entity.
    private let places: [String: [String: Int]]
    /// To-many relationships whose members a row contains.
    let lists: [PropertyDescription]

    init(_ root: EntityDescription, in schema: String) throws {
        self.root = root
        ownName = try Self.identifier(root.name)
        name = schema + "." + ownName
        var columns: [Column] = []
        var lists: [PropertyDescription] = []
        var places: [String: [String: Int]] = [:]
        let entities = Self.family(root)
        var places2: [PropertyDescription: Int] = [:]
        for entity in entities {
            for property in entity.properties where !property.isTransient && !property.isDerived {
                if property.isToMany {
                    if !lists.contains(where: { $0 === property }), JoinTable.isListed(property) { lists.append(property) }
                    continue
                }
                if places2[property] == nil {
                    places2[property] = columns.count
                    columns.append(try Self.column(property, isShared: entities.contains { Self.declares($0, property) }))
                }
                places[entity.name, default: [:]][property.name] = places2[property]
            }
        }
        self.columns = columns
        self.lists = lists
        self.places = places
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

    private static func column(_ property: PropertyDescription, isShared: Bool) throws -> Column {
        let name = isShared ? "\(property.entity.name).\(property.name)" : property.name
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
            return Column(property: property, name: try identifier(name), type: type)
        }
        let isPolymorphic = (property.destinationEntity?.concreteDescendants.count ?? 0) > 1
        return Column(
            property: property, name: try identifier(name), type: .bigint, entityName: isPolymorphic ? try identifier(name + ".entity") : nil)
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

/// The table with the members of a to-many relationship without a to-one inverse: pairs of a source and a target.
struct JoinTable: Sendable {
    /// The relationship whose owners are the sources.
    let relationship: PropertyDescription
    let name: String

    init(_ relationship: PropertyDescription, in schema: String) throws {
        self.relationship = relationship
        name = schema + "." + (try TableLayout.identifier("\(relationship.entity.name).\(relationship.name)"))
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
