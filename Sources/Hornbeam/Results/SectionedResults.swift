public import HornbeamModel

/// Results in sections, with the differences from the previous results.
public struct SectionedResults<Object: ManagedObject> {
    /// The sections in the order of their first objects. Without a key path, one section without a name.
    public let sections: [FetchedResultsSection<Object>]
    /// The differences from the previous element; for the first element, the insertion of all results.
    public let changes: FetchedResultsChanges<Object>

    /// All results in the order of the sections.
    public var objects: [Object] { sections.flatMap(\.objects) }

    /// The names of the sections and the IDs of the results, as a `Sendable` value.
    public var snapshot: FetchedResultsSnapshot { FetchedResultsSnapshot(sections) }
}

extension ManagedObjectContext {
    /// The results of a request in sections: now, and again after each change, each time with the ordered differences.
    ///
    /// ```swift
    /// for try await books in context.results(of: request, sectionedBy: \.author.name) { list.apply(books.changes) }
    /// ```
    /// Otherwise like `results(of:)`. Without a key path, all results are one section.
    public func results<Object: ManagedObject>(
        of request: FetchRequest<Object>, sectionedBy keyPath: String?
    ) -> LiveSequence<SectionedResults<Object>> {
        LiveSequence(self, computations: {
            var results = LiveResults(request, by: keyPath)
            return { context, changes, last in
                let difference = try results.update(after: changes, in: context, from: last?.sections)
                return last != nil && difference.isEmpty ? nil : SectionedResults(sections: results.sections, changes: difference)
            }
        })
    }

    /// The results of a request in sections by a typed path: `sectionedBy: \.author.name`.
    public func results<Object: ManagedObject, Value>(
        of request: FetchRequest<Object>, sectionedBy path: KeyPath<FetchPath<Object>, FetchPath<Value>>
    ) -> LiveSequence<SectionedResults<Object>> {
        results(of: request, sectionedBy: path.format())
    }
}
