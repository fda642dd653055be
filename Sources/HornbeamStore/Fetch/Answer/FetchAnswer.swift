/// The result of a fetch: rows in order, and the work done.
package struct FetchAnswer: Sendable {
    package var rows = ResultSet()
    package var work = FetchWork()

    /// The rows by reference.
    package var references: [ObjectReference] { rows.map(\.reference) }
}

/// The result of a count.
package struct CountAnswer: Sendable {
    package var count: Int
    package var work = FetchWork()
}
