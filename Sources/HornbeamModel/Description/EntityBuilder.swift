/// What may stand in the block of an `Entity`: attributes, relationships, fetched properties,
/// constraints and indexes.
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

/// Requires that no two objects have the same values for the named properties (MOD-8).
public struct Unique: Sendable {
    let names: [String]
    public init(_ names: String...) { self.names = names }
}

/// Keeps an index over the named properties (MOD-9).
///
/// `Indexed("section", .descending("size"))`, `Indexed(.folded("name"))`.
public struct Indexed: Sendable {
    let index: FetchIndexDescription

    /// - Parameter name: The index's name; made from the properties when nil.
    public init(_ elements: FetchIndexElement..., name: String? = nil, where predicate: String? = nil) {
        let made = "by_" + elements.map(\.property).joined(separator: "_")
        index = FetchIndexDescription(name ?? made, elements, where: predicate)
    }
}

/// Collects the parts of an entity.
@resultBuilder
public enum EntityBuilder {
    public static func buildExpression(_ part: some PropertyToken) -> [EntityPart] { [part.part] }
    public static func buildExpression(_ attribute: AttributeDescription) -> [EntityPart] {
        [EntityPart(content: .attribute(attribute, isUnique: false, isIndexed: false))]
    }
    public static func buildExpression(_ relationship: RelationshipDescription) -> [EntityPart] {
        [EntityPart(content: .relationship(relationship))]
    }
    public static func buildExpression(_ property: FetchedPropertyDescription) -> [EntityPart] {
        [EntityPart(content: .fetchedProperty(property))]
    }
    public static func buildExpression(_ constraint: Unique) -> [EntityPart] {
        [EntityPart(content: .unique(constraint.names))]
    }
    public static func buildExpression(_ index: Indexed) -> [EntityPart] {
        [EntityPart(content: .index(index.index))]
    }
    public static func buildExpression(_ index: FetchIndexDescription) -> [EntityPart] {
        [EntityPart(content: .index(index))]
    }
    public static func buildExpression(_ parts: [EntityPart]) -> [EntityPart] { parts }
    public static func buildBlock(_ parts: [EntityPart]...) -> [EntityPart] { parts.flatMap(\.self) }
    public static func buildOptional(_ part: [EntityPart]?) -> [EntityPart] { part ?? [] }
    public static func buildEither(first: [EntityPart]) -> [EntityPart] { first }
    public static func buildEither(second: [EntityPart]) -> [EntityPart] { second }
    public static func buildArray(_ parts: [[EntityPart]]) -> [EntityPart] { parts.flatMap(\.self) }
}
