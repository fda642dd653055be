public import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// How a request would be answered: the plan of the store in words, the index that would help it, and whether unsaved changes are
    /// looked at apart.
    ///
    ///     fetch Event
    ///       scan Event: 1000000 rows
    ///       filter columns: magnitude == 7
    ///       order by ID
    ///       advice: an index on Event(magnitude) would lead to about 99000 entries instead of 1000000 rows
    ///
    /// - Throws: As `fetch`.
    public func explain<Object>(_ request: FetchRequest<Object>) throws -> String {
        let fetch = try prepared(request.untyped)
        let plan = try readingSnapshot().explain(fetch)
        switch try pendingPlan(for: fetch) {
        case .storeOnly: return plan
        case .overlay(let overlay):
            let changed = overlay.count == 1 ? "1 object" : "\(overlay.count) objects"
            return plan + "\n  beside \(changed) with unsaved changes, in memory"
        case .inMemory:
            return "fetch \(fetch.entity.name)\n  all objects in memory: objects that the request looks through have unsaved changes"
        }
    }
}

extension FetchRequest {
    /// How a context would answer the request; see `ManagedObjectContext.explain`.
    public func explain(in context: ManagedObjectContext) throws -> String { try context.explain(self) }
}
