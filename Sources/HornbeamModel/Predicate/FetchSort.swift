/// One sort criterion: a key path over to-one relationships, a direction and a comparison (FET-3).
///
/// Missing values come first in ascending order and last in descending order. Objects that are equal
/// in all criteria are ordered by ID.
public struct FetchSort: Hashable, Sendable, Codable {
    /// The comparison of texts. Other types have a single order and ignore it.
    public enum Comparison: String, Hashable, Sendable, Codable, CaseIterable {
        /// By UTF-8 bytes.
        case standard
        /// Ignores case.
        case caseInsensitive
        /// The order of names in lists: ignores case and accents, and orders numbers by value.
        case localizedStandard
    }

    /// The key path of the attribute, over to-one relationships.
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

    /// Ascending order.
    public static func ascending(_ keyPath: String, comparison: Comparison = .standard) -> Self {
        Self(keyPath, comparison: comparison)
    }

    /// Descending order.
    public static func descending(_ keyPath: String, comparison: Comparison = .standard) -> Self {
        Self(keyPath, ascending: false, comparison: comparison)
    }

    /// The sort criterion in the other direction.
    public var reversed: Self { Self(keyPath, ascending: !isAscending, comparison: comparison) }
}
