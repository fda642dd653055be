internal import HornbeamModel

/// What a store knows of itself: which number each entity, property, index and relationship has, and which trees hold it.
///
/// Kept as JSON in the store under the name `catalogue`. Numbers come from one counter and are never used again, so that rows
/// written under an older model are never read as something else; names may change, trees are named by number.
struct Catalogue: Codable, Hashable {
    /// The version of the formats of rows, keys and this catalogue. A larger one is refused.
    static let currentFormat = 1
    /// The version of the tables by which text is folded in keys; another one makes folded indexes unusable until they are built anew.
    static let currentCollation = Folding.version

    var format = Catalogue.currentFormat
    var collation = Catalogue.currentCollation
    var nextNumber = 1
    var entities: [StoredEntity] = []
    var relationships: [StoredRelationship] = []
    var indexes: [StoredIndex] = []
    /// The checksums of the models that the store had before, the oldest first; nil when it was never migrated.
    var pastVersions: [String]?

    struct StoredEntity: Codable, Hashable {
        var number: Int
        var name: String
        var parent: String?
        var isAbstract: Bool
        /// Declared here; inherited ones are with the parent.
        var columns: [StoredProperty]
        /// The number of the table, where it is not the entity's: a migration wrote the rows anew.
        var table: Int?
    }

    /// An attribute or a to-one: what has a column.
    struct StoredProperty: Codable, Hashable {
        var number: Int
        var name: String
        var type: CellType
        /// To-ones: the destination, and the number of the column that says which entity the key is of, where it can be several.
        var destination: String?
        var inverse: String?
        var entityColumn: Int?
    }

    /// A to-many: the index of its members.
    struct StoredRelationship: Codable, Hashable {
        var number: Int
        var entity: String
        var name: String
        var destination: String
        var inverse: String?
        var isOrdered: Bool
        /// True when the destination can be several entities, so that entries say which.
        var isPolymorphic: Bool
        /// How the members are told.
        var kind: Kind
        /// The number of the trees, where it is not the relationship's: a migration wrote the entries anew.
        var trees: Int?

        enum Kind: String, Codable {
            /// The inverse is a to-one column of the members' rows.
            case mirror
            /// The inverse is a to-many with members of its own.
            case mutual
            /// There is no inverse: a second index leads from the members to the owners.
            case oneWay
        }
    }

    struct StoredIndex: Codable, Hashable {
        var number: Int
        /// The declaring entity; the index covers its subentities too.
        var entity: String
        /// Nil for a unique constraint.
        var name: String?
        var elements: [Element]
        /// True when the index covers several entities, so that entries say which.
        var isPolymorphic: Bool
        /// The predicate of a partial index.
        var condition: String?

        struct Element: Codable, Hashable {
            /// A property, an element of a composite (`place.lat`), or the text of an expression.
            var property: String
            var isAscending = true
            var collation = KeyCollation.binary
            /// True for an expression; absent for others.
            var isExpression: Bool?
        }
    }
}

extension Catalogue {
    /// The columns of an entity, inherited ones first.
    func columns(of name: String) -> [StoredProperty] {
        guard let entity = entities.first(where: { $0.name == name }) else { return [] }
        return (entity.parent.map(columns(of:)) ?? []) + entity.columns
    }

    func entity(named name: String) -> StoredEntity? { entities.first { $0.name == name } }
}
