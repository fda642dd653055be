public import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// Describes the execution of a request: the plan of the store, an index that would help, and the objects with unsaved changes that are
    /// tested in memory.
    ///
    ///     fetch Event
    ///       scan Event: 1000000 rows
    ///       filter columns: magnitude == 7
    ///       order by ID
    ///       advice: an index on Event(magnitude) would lead to about 99000 entries instead of 1000000 rows
    ///
    /// - Throws: The errors of `fetch`.
    public func explain<Object>(_ request: FetchRequest<Object>) throws -> String {
        var description = request.untyped
        if Object.self == [String: PropertyValue].self { description.resultType = .dictionaries }
        let fetch = try prepared(description)
        let program = fetch.request.resultType == .dictionaries ? try fetch.dictionaryProgram() : nil
        try loadBesideOthers(fetch)
        let plan = try stack.queryingStore?.explainQuery(fetch, program) ?? readingSnapshot().explain(fetch)
        switch try pendingPlan(for: fetch) {
        case .storeOnly: return plan
        case .overlay(let overlay):
            let changed = overlay.count == 1 ? "1 object" : "\(overlay.count) objects"
            return plan + "\n  and \(changed) with unsaved changes, in memory"
        case .inMemory:
            return "fetch \(fetch.entity.name)\n  all objects in memory: objects that the request reads through relationships have unsaved changes"
        }
    }
}

extension FetchRequest {
    /// Describes the execution of the request in a context; see `ManagedObjectContext.explain`.
    public func explain(in context: ManagedObjectContext) throws -> String { try context.explain(self) }
}
