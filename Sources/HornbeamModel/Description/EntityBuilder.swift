/// An element of the block of an `Entity`: an attribute, relationship, fetched property,
/// constraint or index.
public struct EntityPart: Sendable {
    enum Content: Sendable {
        case attribute(AttributeDescription, isUnique: Bool, isIndexed: Bool)
        case relationship(RelationshipDescription)
        case fetchedProperty(FetchedPropertyDescription)
        case unique([String])
        case index(FetchIndexDescription)
    }
    let content: Content

    func add(to entity: inout Entity) {
        switch content {
        case .attribute(let attribute, let isUnique, let isIndexed):
            entity.attributes.append(attribute)
            if isUnique { entity.uniquenessConstraints.append([attribute.name]) }
            if isIndexed {
                entity.fetchIndexes.append(.init("by_\(attribute.name)", [.init(attribute.name)]))
            }
        case .relationship(let relationship): entity.relationships.append(relationship)
        case .fetchedProperty(let property): entity.fetchedProperties.append(property)
        case .unique(let names): entity.uniquenessConstraints.append(names)
        case .index(let index): entity.fetchIndexes.append(index)
        }
    }
}

/// Requires that no two objects have the same values for all named properties (MOD-8).
public struct Unique: Sendable {
    let names: [String]
    /// A constraint over the named properties. An object never conflicts while one of these properties has no value.
    public init(_ names: String...) { self.names = names }
}

/// Declares an index over the named properties (MOD-9).
///
/// `Indexed("section", .descending("size"))`, `Indexed(.folded("name"))`.
public struct Indexed: Sendable {
    let index: FetchIndexDescription

    /// An index over the elements, the most significant first.
    ///
    /// - Parameters:
    ///   - elements: The properties with their directions and collations.
    ///   - name: The index's name; made from the properties when nil.
    ///   - predicate: The format of a predicate; only objects that satisfy it are in the index.
    public init(_ elements: FetchIndexElement..., name: String? = nil, where predicate: String? = nil) {
        let made = "by_" + elements.map(\.property).joined(separator: "_")
        index = FetchIndexDescription(name ?? made, elements, where: predicate)
    }
}

/// Collects the parts of an entity.
@resultBuilder
public enum EntityBuilder {
    /// A property, declared by its token.
    public static func buildExpression(_ part: some PropertyToken) -> [EntityPart] { [part.part] }
    /// An attribute.
    public static func buildExpression(_ attribute: AttributeDescription) -> [EntityPart] {
        [EntityPart(content: .attribute(attribute, isUnique: false, isIndexed: false))]
    }
    /// A relationship.
    public static func buildExpression(_ relationship: RelationshipDescription) -> [EntityPart] {
        [EntityPart(content: .relationship(relationship))]
    }
    /// A fetched property.
    public static func buildExpression(_ property: FetchedPropertyDescription) -> [EntityPart] {
        [EntityPart(content: .fetchedProperty(property))]
    }
    /// A uniqueness constraint.
    public static func buildExpression(_ constraint: Unique) -> [EntityPart] {
        [EntityPart(content: .unique(constraint.names))]
    }
    /// An index.
    public static func buildExpression(_ index: Indexed) -> [EntityPart] {
        [EntityPart(content: .index(index.index))]
    }
    /// An index, as a description.
    public static func buildExpression(_ index: FetchIndexDescription) -> [EntityPart] {
        [EntityPart(content: .index(index))]
    }
    /// Parts in an array.
    public static func buildExpression(_ parts: [EntityPart]) -> [EntityPart] { parts }
    /// The parts of a block.
    public static func buildBlock(_ parts: [EntityPart]...) -> [EntityPart] { parts.flatMap(\.self) }
    /// The parts of an `if` without `else`.
    public static func buildOptional(_ part: [EntityPart]?) -> [EntityPart] { part ?? [] }
    /// The parts of an `if`.
    public static func buildEither(first: [EntityPart]) -> [EntityPart] { first }
    /// The parts of an `else`.
    public static func buildEither(second: [EntityPart]) -> [EntityPart] { second }
    /// The parts of a `for`.
    public static func buildArray(_ parts: [[EntityPart]]) -> [EntityPart] { parts.flatMap(\.self) }
}
