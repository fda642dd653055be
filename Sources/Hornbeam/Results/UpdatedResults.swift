/// Results that a controller keeps up to date.
protocol UpdatedResults<Object> {
    associatedtype Object: ManagedObject

    /// The results by section.
    var sections: [FetchedResultsSection<Object>] { get }
    /// True if the results must be fetched again at the next change.
    var isStale: Bool { get set }

    /// Updates the results.
    ///
    /// - Returns: The differences from the results before; nil if there are none.
    mutating func update(after event: ContextEvent) throws -> FetchedResultsChanges<Object>?
}
