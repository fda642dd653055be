/// A stored value within an object: a property, or an element of a composite attribute (`place.lat`).
public struct PropertyPath: Hashable, Sendable {
    /// The property; for an element of a composite, the composite attribute.
    public let property: PropertyDescription
    /// The steps into a composite attribute; empty for the property itself.
    public let compositeSteps: [String]

    /// The value with a name or a path such as `place.lat`; nil when the entity does not have its property.
    package init?(_ path: String, in entity: EntityDescription) {
        let steps = path.split(separator: ".").map(String.init)
        guard let first = steps.first, let property = entity.propertiesByName[first] else { return nil }
        self.property = property
        compositeSteps = Array(steps.dropFirst())
    }
}

extension PropertyPath: CustomStringConvertible {
    public var description: String { ([property.name] + compositeSteps).joined(separator: ".") }
}

/// Attributes and to-one relationships whose combination of values is unique in an entity and its
/// subentities (MOD-8).
///
/// An object never conflicts while one of its values is missing.
public struct UniquenessConstraint: Hashable, Sendable {
    /// The entity that declares the constraint.
    public let entity: EntityDescription
    /// The values whose combination is unique.
    public let elements: [PropertyPath]

    /// The properties; for an element of a composite, the composite attribute.
    public var properties: [PropertyDescription] { elements.map(\.property) }
}

/// An index with its properties resolved (MOD-9).
public struct FetchIndex: Hashable, Sendable {
    /// One part of an index.
    public struct Element: Hashable, Sendable {
        /// The indexed value.
        public let path: PropertyPath
        /// True if the smallest value is first.
        public let isAscending: Bool
        /// How texts are compared.
        public let collation: IndexCollation

        /// The property; for an element of a composite, the composite attribute.
        public var property: PropertyDescription { path.property }
    }

    /// The entity that declares the index.
    public let entity: EntityDescription
    /// The name, unique within the entity.
    public let name: String
    /// The elements that name properties. Elements with expressions are only in `definition`.
    public let elements: [Element]
    /// The index as declared.
    public let definition: FetchIndexDescription
}
