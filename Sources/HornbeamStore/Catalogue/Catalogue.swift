internal import HornbeamModel

/// The catalogue of a store: the number of each entity, property, index and relationship, and the trees that hold them.
///
/// It is stored as JSON under the name `catalogue`. Numbers come from one counter and are never reused, so rows written under an older model
/// are never misread. Names may change, because trees are named by number.
struct Catalogue: Codable, Hashable {
    /// The version of the formats of rows, keys and this catalogue. Stores with a larger version are refused.
    static let currentFormat = 1
    /// The version of the folding tables for text in keys. An index with folded keys of another version is unusable until it is rebuilt.
    static let currentCollation = Folding.version

    var format = Catalogue.currentFormat
    var collation = Catalogue.currentCollation
    var nextNumber = 1
    var entities: [StoredEntity] = []
    var relationships: [StoredRelationship] = []
    var indexes: [StoredIndex] = []
    /// The checksums of earlier models of the store, the oldest first; nil when it was never migrated.
    var pastVersions: [String]?

    struct StoredEntity: Codable, Hashable {
        var number: Int
        var name: String
        var parent: String?
        var isAbstract: Bool
        /// The columns that the entity declares itself, without inherited columns.
        var columns: [StoredProperty]
        /// The number of the table, if it differs from the entity's number because a migration rewrote the rows.
        var table: Int?
    }

    /// A property with a column: an attribute or a to-one.
    struct StoredProperty: Codable, Hashable {
        var number: Int
        var name: String
        var type: CellType
        /// To-ones only. `entityColumn` is the number of the column with the destination's entity number; nil if there is one concrete entity.
        var destination: String?
        var inverse: String?
        var entityColumn: Int?
    }

    /// A to-many, which has an index of its members.
    struct StoredRelationship: Codable, Hashable {
        var number: Int
        var entity: String
        var name: String
        var destination: String
        var inverse: String?
        var isOrdered: Bool
        /// True when the destination has several concrete entities. Entries then contain the entity number.
        var isPolymorphic: Bool
        /// How the members are stored.
        var kind: Kind
        /// The number of the trees, if it differs from the relationship's number because a migration rewrote the entries.
        var trees: Int?

        enum Kind: String, Codable {
            /// The inverse is a to-one column of the members' rows.
            case mirror
            /// The inverse is a to-many with members of its own.
            case mutual
            /// There is no inverse: a second index maps members to owners.
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
        /// True when the index covers several concrete entities. Entries then contain the entity number.
        var isPolymorphic: Bool
        /// The predicate of a partial index.
        var condition: String?

        struct Element: Codable, Hashable {
            /// A property, an element of a composite (`place.lat`), or the text of an expression.
            var property: String
            var isAscending = true
            var collation = KeyCollation.binary
            /// True for an expression; nil otherwise.
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
