/// Where the value of one property of a migrated object comes from (MIG-6).
public struct PropertyMapping: Hashable, Sendable {
    /// The kinds of source.
    public enum Source: Hashable, Sendable {
        /// A property of the source entity, by its old name.
        case property(String)
        /// The default value of the new attribute; null where it has none.
        case defaultValue
        /// The store computes the attribute anew, since its derivation is new or changed.
        case derivation
        /// The other end of the relationship, which has a source itself.
        case inverse
        /// A new relationship that leads nowhere yet.
        case empty
    }

    /// The name of the property in the destination entity.
    public var name: String
    /// The source of the value.
    public var source: Source

    /// A mapping for the property of this name in the destination entity.
    public init(_ name: String, from source: Source) {
        self.name = name
        self.source = source
    }

    /// The name of the source property; nil where there is none.
    public var sourceName: String? {
        if case .property(let name) = source { name } else { nil }
    }
}

extension PropertyMapping: CustomStringConvertible {
    public var description: String {
        switch source {
        case .property(let old): old == name ? name : "\(name), renamed from \(old)"
        case .defaultValue: "\(name), new, with its default value"
        case .derivation: "\(name), computed"
        case .inverse: "\(name), new, filled from its inverse"
        case .empty: "\(name), new, empty"
        }
    }
}
