internal import HornbeamEngine
internal import HornbeamModel

/// A unique constraint or a fetch index: the properties of its keys, and its tree.
///
/// Entries of a fetch index are `components, object key` (8 bytes, big-endian) with an empty value, or with the entity number (4 bytes) if
/// several entities share the index. Entries of a unique constraint are `components` with the object key as value (8 bytes,
/// little-endian), followed by the entity number if several entities share it. A row with a null has no entry in a constraint, so that
/// nulls never conflict.
final class ValueIndex: Sendable {
    struct Element: Sendable {
        /// The property of the value; for an expression, the first property that it reads, by name.
        let property: PropertyDescription
        var form: KeyForm
        var source = Source.cell

        init(property: PropertyDescription, type: CellType, isAscending: Bool, collation: KeyCollation, source: Source = .cell) {
            self.property = property
            form = KeyForm(type: type, isAscending: isAscending, collation: collation)
            self.source = source
        }

        var type: CellType { form.type }
        var isAscending: Bool { form.isAscending }
        var collation: KeyCollation { form.collation }

        /// The source of a key's value.
        enum Source: Sendable, Hashable {
            /// The property's cell.
            case cell
            /// An element of a composite attribute.
            case part([String])
            /// An expression over the row.
            case expression(FetchExpression.Node)
        }
    }

    /// The entity that declares it.
    let entity: EntityDescription
    /// Nil for a unique constraint.
    let name: String?
    let elements: [Element]
    let isPolymorphic: Bool
    /// The index of the only entity with entries; -1 if there can be several.
    let onlyEntity: Int32
    let tree: TreeID
    let number: Int
    /// The condition of a partial index; nil when the index contains all rows.
    let condition: IndexCondition?
    /// The properties on which the entries of a row depend.
    let properties: [PropertyDescription]
    /// True when every key component is a cell of the row and the index is not partial.
    let isPlain: Bool
    /// For a constraint on one text within one entity: a cache of the objects found by text.
    let lookupCache: UniqueLookupCache?

    init(
        entity: EntityDescription, name: String?, elements: [Element], isPolymorphic: Bool, tree: TreeID,
        number: Int, condition: IndexCondition? = nil
    ) {
        self.entity = entity
        self.name = name
        self.elements = elements
        self.isPolymorphic = isPolymorphic
        self.condition = condition
        isPlain = condition == nil && elements.allSatisfy { $0.source == .cell }
        let isText = elements.count == 1 && elements[0].type == .string && elements[0].collation == .binary
        lookupCache = name == nil && isPlain && isText && !isPolymorphic ? UniqueLookupCache() : nil
        var names = condition?.predicate.node.rowProperties ?? []
        for element in elements {
            names.insert(element.property.name)
            if case .expression(let node) = element.source { names.formUnion(node.rowProperties) }
        }
        properties = entity.properties.filter { names.contains($0.name) }
        onlyEntity = isPolymorphic ? -1 : entity.concreteDescendants.first.map { Int32($0.index) } ?? -1
        self.tree = tree
        self.number = number
    }

    var isUnique: Bool { name == nil }

    /// True when keys contain text or bytes, which may be truncated.
    var mayTruncateKeys: Bool { elements.contains { $0.type.isVariable } }

    /// The name of the stored value that is set when the index contains a truncated key.
    var truncatedKeysName: String { "cut/\(number)" }

    /// `Book(title, year desc)`
    var title: String {
        let parts = elements.map { $0.name + ($0.isAscending ? "" : " desc") + $0.collation.suffix }
        let rows = condition.map { " where \($0.predicate)" } ?? ""
        return "\(entity.name)(\(parts.joined(separator: ", ")))\(rows)"
    }
}

extension ValueIndex.Element {
    /// `title`, `place.lat`, `uppercase:(title)`
    var name: String {
        switch source {
        case .cell: property.name
        case .part(let steps): ([property.name] + steps).joined(separator: ".")
        case .expression(let node): FetchExpression(node: node).description
        }
    }

    /// The names of the elements that lead into a composite attribute; empty for other components.
    var partSteps: [String] {
        if case .part(let steps) = source { steps } else { [] }
    }

    /// Computes the value of this component from the values of the row.
    func value(in values: [String: PropertyValue]) -> PropertyValue {
        let whole = values[property.name] ?? .null
        switch source {
        case .cell: return whole
        case .part(let steps): return whole.part(steps)
        case .expression(let node):
            let result = try? FetchExpression(node: node).value(with: values).propertyValue
            guard type == .double else { return result ?? .null }
            // The keys of an expression are the nearest doubles. Different values can have the same key, so fetches also test the row.
            return result?.doubleValue.map { .double($0) } ?? .null
        }
    }
}

/// The members of a to-many.
///
/// Entries are `owner, member` (8 bytes each, big-endian). If members can have several entities, the value begins with the member's entity
/// number (4 bytes). In an ordered relationship the member's position follows (8 bytes, big-endian), and a second tree has entries
/// `owner, position, member` with the entity number as value.
final class LinkIndex: Sendable {
    let relationship: PropertyDescription
    let kind: Catalogue.StoredRelationship.Kind
    let isPolymorphic: Bool
    /// The index of the member entity; valid only if `isPolymorphic` is false.
    let onlyMember: Int32
    /// The index of the declared entity of the members; -1 when there is none.
    let declaredMember: Int32
    let members: TreeID
    let order: TreeID?
    /// The reverse tree: members of the inverse, or the owners of a one-way relationship; nil for `mirror`.
    let reverse: Reverse?

    struct Reverse: Sendable {
        let members: TreeID
        let isPolymorphic: Bool
        /// Nil when the inverse has no order.
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
        declaredMember = relationship.destinationEntity.map { Int32($0.index) } ?? -1
        self.members = members
        self.order = order
        self.reverse = reverse
    }
}
