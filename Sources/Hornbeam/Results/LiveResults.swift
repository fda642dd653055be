internal import HornbeamModel

/// The changes since the last computation of a live value.
struct LiveChanges {
    /// The objects whose values may have changed.
    private(set) var touched: Set<ManagedObjectID> = []
    /// The event, if there was only one.
    private(set) var event: ContextEvent?
    /// The names of the entities of all changed objects.
    private var entityNames: Set<String> = []
    /// The entities, by index, of changed objects that are not listed; nil if other objects may have changed.
    private var unlistedEntities: Set<Int32>? = []
    private var isEmpty = true

    mutating func append(_ later: ContextEvent) {
        touched.formUnion(later.changes.updated)
        touched.formUnion(later.changes.refreshed)
        addEntities(later)
        event = isEmpty ? later : nil
        isEmpty = false
    }

    mutating func append(_ later: LiveChanges) {
        touched.formUnion(later.touched)
        entityNames.formUnion(later.entityNames)
        if let others = later.unlistedEntities { unlistedEntities?.formUnion(others) } else { unlistedEntities = nil }
        if !later.isEmpty { event = isEmpty ? later.event : nil }
        isEmpty = isEmpty && later.isEmpty
    }

    private mutating func addEntities(_ event: ContextEvent) {
        let changes = event.changes
        for ids in [changes.inserted, changes.updated, changes.refreshed, changes.deleted] {
            var last: ManagedObjectID.StoreIdentity?
            for id in ids where id.origin !== last {
                last = id.origin
                entityNames.insert(id.entityName)
            }
        }
        let isComplete = changes.invalidated.isEmpty && !changes.invalidatedAll
        if isComplete, let others = event.unlistedEntities { unlistedEntities?.formUnion(others) } else { unlistedEntities = nil }
    }

    /// False if no changed object is one on which results depend.
    func mayAffect(_ dependencies: ResultDependencies, in context: ManagedObjectContext) -> Bool {
        guard let unlistedEntities else { return true }
        let model = context.persistentStoreCoordinator.managedObjectModel
        return unlistedEntities.contains { !dependencies.ignores(model.entities[Int($0)]) }
            || entityNames.contains { model.entitiesByName[$0].map { !dependencies.ignores($0) } ?? true }
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
