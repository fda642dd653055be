/// The answer to a fetch: rows in order, and how they were found.
package struct FetchAnswer: Sendable {
    package var rows = FoundRows()
    package var work = FetchWork()

    /// The rows by reference.
    package var references: [ObjectReference] { rows.map(\.reference) }
}

/// The answer to a count.
package struct CountAnswer: Sendable {
    package var count: Int
    package var work = FetchWork()
}
