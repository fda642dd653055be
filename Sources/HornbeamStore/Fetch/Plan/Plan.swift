/// How a fetch was, or would be, carried out; printed by `explain`.
///
///     fetch Book
///       range of Publication(title[cd], year desc): 12 entries
///       filter columns, then texts: pages > 100 AND isbn ENDSWITH "7"
///       sort in memory by title, first 10
package struct Plan: Sendable, Hashable, CustomStringConvertible {
    package var entity = ""
    /// How the rows are reached.
    package var access = ""
    /// What is asked of each row, nil when every row reached is a result.
    package var filter: String?
    /// How the order comes about.
    package var order = ""
    /// What is left out and cut off.
    package var window: String?
    /// What becomes of the objects in a fetch of dictionaries.
    package var dictionaries: [String] = []

    package var description: String {
        (([access, filter, order, window] as [String?]).compactMap { $0 } + dictionaries)
            .reduce("fetch \(entity)") { $0 + "\n  " + $1 }
    }
}
