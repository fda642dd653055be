/// One criterion of an order: a key path over to-one relationships, a direction and a comparison (FET-3).
///
/// Missing values come first in ascending order and last in descending order. Objects that no
/// criterion tells apart come in the order of their IDs.
public struct FetchSort: Hashable, Sendable, Codable {
    /// How text is compared. Other values have one order, and ignore it.
    public enum Comparison: String, Hashable, Sendable, Codable, CaseIterable {
        /// By UTF-8 bytes.
        case standard
        /// Without regard to case.
        case caseInsensitive
        /// As people sort lists of names: without regard to case and accents, numbers by value.
        case localizedStandard
    }

    /// The attribute to compare, over to-one relationships.
    public var keyPath: String
    /// True if the smallest value is first.
    public var isAscending: Bool
    /// How values are compared.
    public var comparison: Comparison

    /// A criterion over a key path.
    public init(_ keyPath: String, ascending: Bool = true, comparison: Comparison = .standard) {
        self.keyPath = keyPath
        isAscending = ascending
        self.comparison = comparison
    }

    /// The smallest value first.
    public static func ascending(_ keyPath: String, comparison: Comparison = .standard) -> Self {
        Self(keyPath, comparison: comparison)
    }

    /// The largest value first.
    public static func descending(_ keyPath: String, comparison: Comparison = .standard) -> Self {
        Self(keyPath, ascending: false, comparison: comparison)
    }

    /// The same criterion in the other direction.
    public var reversed: Self { Self(keyPath, ascending: !isAscending, comparison: comparison) }
}
