internal import HornbeamModel

/// The changes since the last computation of a live value.
struct LiveChanges {
    /// The objects whose values may have changed.
    private(set) var touched: Set<ManagedObjectID> = []
    /// The event, if there was only one.
    private(set) var event: ContextEvent?
    private var isEmpty = true

    mutating func append(_ later: ContextEvent) {
        touched.formUnion(later.changes.updated)
        touched.formUnion(later.changes.refreshed)
        event = isEmpty ? later : nil
        isEmpty = false
    }

    mutating func append(_ later: LiveChanges) {
        touched.formUnion(later.touched)
        if !later.isEmpty { event = isEmpty ? later.event : nil }
        isEmpty = isEmpty && later.isEmpty
    }
}

/// The results of a live sequence. Updated like those of a controller after one event; fetched again after several events.
struct LiveResults<Object: ManagedObject> {
    private let request: FetchRequest<Object>
    private let sectionKeyPath: String?
    private var tracked: TrackedResults<Object>?

    init(_ request: FetchRequest<Object>, by sectionKeyPath: String?) {
        self.request = request
        self.sectionKeyPath = sectionKeyPath
    }

    /// The results by section.
    var sections: [FetchedResultsSection<Object>] { tracked?.sections ?? [] }

    /// Updates the results. After an error, the next update fetches.
    ///
    /// - Returns: The differences from the last results.
    mutating func update(
        after changes: LiveChanges, in context: ManagedObjectContext, from last: [FetchedResultsSection<Object>]?
    ) throws -> FetchedResultsChanges<Object> {
        if let event = changes.event, var tracked {
            self.tracked = nil
            if let difference = try tracked.reposition(after: event) {
                self.tracked = tracked
                return difference
            }
        }
        tracked = nil
        try context.requireObjects(request.untyped)
        let fetch = try context.prepared(request.untyped)
        let objects: [Object] = try context.finish(context.findPrepared(fetch), fetch.request)
        let results = try OrderedResults(objects, by: sectionKeyPath)
        try context.requireNoReadFailures()
        tracked = TrackedResults(results, of: fetch, by: sectionKeyPath, in: context)
        return FetchedResultsChanges(from: last ?? [], to: results.sections, updated: context.identities(of: changes.touched))
    }
}
