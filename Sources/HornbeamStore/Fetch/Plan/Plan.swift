/// The plan of a fetch, executed or not; printed by `explain`.
///
///     fetch Book
///       index Publication(title[cd], year desc): 12 entries
///       filter columns, then texts: pages > 100 AND isbn ENDSWITH "7"
///       sort by title, keeping the first 10
package struct Plan: Sendable, Hashable, CustomStringConvertible {
    package var entity = ""
    /// How the rows are found.
    package var access = ""
    /// The conditions that are tested on each row; nil when every row is a result.
    package var filter: String?
    /// How the results are ordered.
    package var order = ""
    /// Offset and limit.
    package var window: String?
    /// The steps that make dictionaries from the objects.
    package var dictionaries: [String] = []

    package var description: String {
        (([access, filter, order, window] as [String?]).compactMap { $0 } + dictionaries)
            .reduce("fetch \(entity)") { $0 + "\n  " + $1 }
    }
}
