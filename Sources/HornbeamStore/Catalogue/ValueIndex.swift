internal import HornbeamEngine
internal import HornbeamModel

/// A unique constraint or a fetch index: which properties make its keys, and where its entries are.
///
/// Entries of a fetch index are `components, object key` (8 bytes, big-endian) with an empty value, or the entity number (4 bytes) where
/// several entities share the index. Entries of a unique constraint are `components` with the object key as value (8 bytes,
/// little-endian), and the entity number behind it where several entities share it; rows with a null among the properties have none,
/// so that nil never collides.
final class ValueIndex: Sendable {
    struct Element: Sendable {
        let property: PropertyDescription
        let type: CellType
        var isAscending: Bool
        let collation: KeyCollation
    }

    /// The entity that declares it.
    let entity: EntityDescription
    /// Nil for a unique constraint.
    let name: String?
    let elements: [Element]
    let isPolymorphic: Bool
    /// The index of the only entity in it, where there is one only.
    let onlyEntity: Int32
    let tree: TreeID
    let number: Int

    init(
        entity: EntityDescription, name: String?, elements: [Element], isPolymorphic: Bool, tree: TreeID,
        number: Int
    ) {
        self.entity = entity
        self.name = name
        self.elements = elements
        self.isPolymorphic = isPolymorphic
        onlyEntity = isPolymorphic ? -1 : entity.concreteDescendants.first.map { Int32($0.index) } ?? -1
        self.tree = tree
        self.number = number
    }

    var isUnique: Bool { name == nil }

    /// True when keys hold text or bytes, which may be cut.
    var mayCutKeys: Bool { elements.contains { $0.type.isVariable } }

    /// The value of the store that is set once the index holds a key that was cut.
    var cutKeysName: String { "cut/\(number)" }

    /// `Book(title, year desc)`
    var title: String {
        let parts = elements.map { $0.property.name + ($0.isAscending ? "" : " desc") + $0.collation.suffix }
        return "\(entity.name)(\(parts.joined(separator: ", ")))"
    }
}

/// The members of a to-many.
///
/// Entries are `owner, member` (8 bytes each, big-endian). The value is the member's entity number where it can be several (4 bytes), then,
/// in an ordered relationship, the member's position (8 bytes, big-endian). An ordered relationship has a second tree
/// with entries `owner, position, member` and the entity number as value.
final class LinkIndex: Sendable {
    let relationship: PropertyDescription
    let kind: Catalogue.StoredRelationship.Kind
    let isPolymorphic: Bool
    /// The index of the only member entity, where there is one only.
    let onlyMember: Int32
    let members: TreeID
    let order: TreeID?
    /// The tree that leads back: members of the inverse, or the owners of a one-way relationship; nil for `mirror`.
    let reverse: Reverse?

    struct Reverse: Sendable {
        let members: TreeID
        let isPolymorphic: Bool
        /// Set when the inverse keeps an order of its own.
        let order: TreeID?
    }

    init(
        relationship: PropertyDescription, kind: Catalogue.StoredRelationship.Kind, isPolymorphic: Bool,
        members: TreeID, order: TreeID?, reverse: Reverse?
    ) {
        self.relationship = relationship
        self.kind = kind
        self.isPolymorphic = isPolymorphic
        onlyMember = relationship.destinationEntity?.concreteDescendants.first.map { Int32($0.index) } ?? -1
        self.members = members
        self.order = order
        self.reverse = reverse
    }
}
