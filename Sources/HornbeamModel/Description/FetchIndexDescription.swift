/// How an index compares text.
public enum IndexCollation: String, Hashable, Sendable, Codable, CaseIterable {
    /// By bytes. Supports `==`, `<` and `BEGINSWITH`.
    case binary
    /// Without case. Supports comparisons with `[c]`.
    case caseInsensitive
    /// Without accents. Supports comparisons with `[d]`.
    case diacriticInsensitive
    /// Without case and accents. Supports comparisons with `[cd]`.
    case caseAndDiacriticInsensitive
}

/// One part of an index: a property or an expression, and the direction in which it is ordered (MOD-9).
public struct FetchIndexElement: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The kinds of index in Core Data. All elements of an index have the same kind.
    public enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        /// An index ordered by its values.
        case binary
        /// Core Data's spatial index. Stores ignore it.
        case rTree
    }

    /// A property's name, a key path into a composite, an expression, or `self` or `entity` in old models (MOD-10).
    public var property: String
    /// True if the smallest value is first.
    public var isAscending: Bool
    /// How texts are compared.
    public var collation: IndexCollation
    /// The kind of index.
    public var kind: Kind
    /// True when `property` is the text of an expression instead of a name.
    public var isExpression: Bool

    /// An element over a property, or over an expression if `isExpression` is true.
    public init(
        _ property: String, ascending: Bool = true, collation: IndexCollation = .binary,
        kind: Kind = .binary, isExpression: Bool = false
    ) {
        self.property = property
        isAscending = ascending
        self.collation = collation
        self.kind = kind
        self.isExpression = isExpression
    }

    public init(stringLiteral name: String) { self.init(name) }

    /// The property in ascending order.
    public static func ascending(_ property: String, collation: IndexCollation = .binary) -> Self {
        Self(property, collation: collation)
    }

    /// A path into a composite: `.path("place.city")`.
    public static func path(_ path: String, ascending: Bool = true, collation: IndexCollation = .binary) -> Self {
        Self(path, ascending: ascending, collation: collation)
    }

    /// The value of an expression.
    public static func expression(_ expression: String, ascending: Bool = true) -> Self {
        Self(expression, ascending: ascending, isExpression: true)
    }

    /// The property in descending order.
    public static func descending(_ property: String, collation: IndexCollation = .binary) -> Self {
        Self(property, ascending: false, collation: collation)
    }

    /// The property with a collation.
    public static func folded(_ property: String, _ collation: IndexCollation = .caseAndDiacriticInsensitive)
        -> Self
    {
        Self(property, collation: collation)
    }
}

/// An index that makes fetches faster without changing their results (MOD-9). Not part of the version hash.
public struct FetchIndexDescription: Hashable, Sendable {
    /// The name, unique within the entity.
    public var name: String
    /// The elements, the most significant first.
    public var elements: [FetchIndexElement]
    /// The format of a predicate: only objects that satisfy it are in the index.
    public var partialPredicate: String?

    /// An index over the elements; with a condition, over the objects that satisfy it.
    public init(_ name: String, _ elements: [FetchIndexElement], where partialPredicate: String? = nil) {
        self.name = name
        self.elements = elements
        self.partialPredicate = partialPredicate
    }
}
