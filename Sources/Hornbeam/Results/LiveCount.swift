internal import HornbeamModel
internal import HornbeamStore

/// The number of results of a request, objects or dictionaries. Tests only the changed objects if the number depends on their attributes alone.
struct LiveCount<Object: ManagedObject> {
    /// The results of the request by their keys.
    fileprivate struct Members {
        var keys: Set<UInt64> = []
        /// The unsaved results, with their temporary keys.
        var unsaved: [(key: UInt64, object: ManagedObject)] = []
    }

    /// The most results whose keys are kept.
    private static var mostMembers: Int { 100_000 }

    private let request: FetchRequest<Object>
    private var fetch: ValidatedFetch?
    private var dependencies: ResultDependencies?
    private var members: Members?
    private var count = 0
    /// False before the first count, and after an error.
    private var isKnown = false

    init(_ request: FetchRequest<Object>) { self.request = request }

    /// Counts again after changes.
    mutating func update(after changes: LiveChanges, in context: ManagedObjectContext) throws -> Int {
        if isKnown, let dependencies, !changes.mayAffect(dependencies, in: context) { return count }
        let known = isKnown ? members : nil
        members = nil
        if var known, let event = changes.event, try update(&known, after: event, context) {
            members = known
            count = known.keys.count
            return count
        }
        let canUpdate = isKnown
        isKnown = false
        let fetch = try context.prepared(request.untyped)
        let dependencies = ResultDependencies(fetch, sectionKeyPath: nil)
        (self.fetch, self.dependencies) = (fetch, dependencies)
        let countsObjects = request.untyped.resultType != .dictionaries
        // The keys are fetched at the second count: a count that does not change needs none.
        if canUpdate, countsObjects, dependencies.isByObject, context.canTrustMemory, count <= Self.mostMembers {
            members = Members(try context.findPrepared(fetch))
        }
        count = try members?.keys.count ?? (countsObjects ? context.countPrepared(fetch) : context.countDictionaries(request.untyped))
        try context.requireNoReadFailures()
        isKnown = true
        return count
    }

    /// - Returns: False if the results must be counted again.
    private func update(_ members: inout Members, after event: ContextEvent, _ context: ManagedObjectContext) throws -> Bool {
        guard let fetch, let dependencies, context.canTrustMemory, event.changes.invalidated.isEmpty, let unlisted = event.unlistedEntities
        else { return false }
        let model = context.persistentStoreCoordinator.managedObjectModel
        guard unlisted.allSatisfy({ dependencies.ignores(model.entities[Int($0)]) }) else { return false }
        members.replaceTemporaryKeys()
        let changes = event.changes
        for id in changes.inserted.union(changes.updated).union(changes.refreshed).union(changes.deleted) {
            guard let entity = model.entitiesByName[id.entityName], !dependencies.isReadThroughRelationships(entity) else { return false }
            guard dependencies.isResult(entity) else { continue }
            guard let object = context.registeredObject(for: id) ?? (id.isTemporaryID || changes.deleted.contains(id) ? nil : context.object(with: id)),
                !changes.deleted.contains(id) || object.isDeleted
            else { return false }
            let isResult = try !object.state.contains(.detached) && context.isIn(fetch.request, object) && !context.matching([object], fetch).isEmpty
            members.set(object, isResult: isResult)
        }
        try context.requireNoReadFailures()
        return true
    }
}

extension LiveCount.Members {
    /// The results of a fetch.
    init(_ found: FoundObjects) {
        keys.reserveCapacity(found.count)
        for result in found {
            switch result {
            case .stored(let row): keys.insert(row.reference.key)
            case .object(let object): set(object, isResult: true)
            }
        }
    }

    /// Replaces the temporary keys of objects that were saved.
    mutating func replaceTemporaryKeys() {
        for (key, object) in unsaved where object.registryKey != key {
            if keys.remove(key) != nil { keys.insert(object.registryKey) }
        }
        unsaved.removeAll { $0.object.registryKey != $0.key }
    }

    mutating func set(_ object: ManagedObject, isResult: Bool) {
        guard isResult else {
            keys.remove(object.registryKey)
            return
        }
        if keys.insert(object.registryKey).inserted, object.state.contains(.temporary) { unsaved.append((object.registryKey, object)) }
    }
}
