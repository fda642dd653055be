public import HornbeamModel
internal import HornbeamStore

// Transitive closures. The store follows the path and creates no objects. The destinations of objects with unsaved changes are read in memory and
// passed to the store.

extension ManagedObjectContext {
    /// The objects that are reached from the results of a request by following a path of relationships repeatedly, each once with its
    /// smallest depth. Includes this context's unsaved changes. Creates no objects, except for destinations of unsaved changes.
    ///
    /// ```swift
    /// let parts = try context.closure(of: FetchRequest<Part>().where("name == 'engine'"), over: "components", depth: 3)
    /// ```
    /// The roots are not results, also if a cycle leads back to them. The results are ordered by depth, then by ID. O(reached objects · log n).
    ///
    /// - Parameters:
    ///   - roots: The request for the objects at which the walk begins.
    ///   - keyPath: Relationships that lead from an object to objects with the same relationships, such as `components` or `uses.part`.
    ///   - depth: The largest number of times that the path is followed; nil for no limit.
    ///   - condition: A condition on each reached object. Objects that do not satisfy it are neither results nor followed.
    /// - Throws: `predicateInvalid` for a path that cannot be followed again, a negative depth or an invalid condition; the errors of `fetch`.
    public func closure<Object: ManagedObject>(
        of roots: FetchRequest<Object>, over keyPath: String, depth: Int? = nil, where condition: FetchPredicate? = nil
    ) throws -> [ClosureMember] {
        try requireObjects(roots.untyped)
        let fetch = try prepared(roots.untyped)
        let closure = try ClosureDescription(keyPath, from: fetch.entity, depth: depth, condition)
        return try members(of: closure, from: findPrepared(fetch).map(reference), includesChanges: fetch.request.includesPendingChanges)
    }

    /// The objects that are reached from given objects by following a path of relationships repeatedly, like `closure(of:over:depth:where:)`.
    ///
    /// - Parameters:
    ///   - objects: The objects at which the walk begins.
    ///   - keyPath: Relationships that lead from an object to objects with the same relationships, such as `components` or `uses.part`.
    ///   - depth: The largest number of times that the path is followed; nil for no limit.
    ///   - condition: A condition on each reached object. Objects that do not satisfy it are neither results nor followed.
    /// - Throws: `predicateInvalid` for a path that cannot be followed again, a negative depth or an invalid condition; the errors of `fetch`.
    public func closure<Object: ManagedObject>(
        of objects: [Object], over keyPath: String, depth: Int? = nil, where condition: FetchPredicate? = nil
    ) throws -> [ClosureMember] {
        let fetch = try prepared(FetchRequest<Object>().untyped)
        let closure = try ClosureDescription(keyPath, from: fetch.entity, depth: depth, condition)
        return try members(of: closure, from: objects.filter { !$0.isDeleted && !$0.isDetached }.map(\.reference), includesChanges: true)
    }

    private func members(
        of closure: ClosureDescription, from roots: [ObjectReference], includesChanges: Bool
    ) throws -> [ClosureMember] {
        try loadRows(for: closure)
        var changes = ClosureChanges(stepCount: closure.path.count)
        if includesChanges {
            addChanges(of: closure, to: &changes)
            changes.overlay.passing = try keysOfPassing(closure)
        }
        try requireNoReadFailures()
        let levels = try readingSnapshot().closure(closure, from: roots, with: changes.overlay)
        return levels.enumerated().flatMap { level, objects in
            objects.map { ClosureMember(objectID: changes.temporaryIDs[$0.key] ?? objectID($0), depth: level + 1) }
        }
    }

    /// Loads the rows of a store that loads rows for each request.
    private func loadRows(for closure: ClosureDescription) throws {
        let stack = persistentStoreCoordinator.stack
        guard stack.isIncremental else { return }
        for entity in closure.path.map(\.entity) + [closure.destination] {
            try stack.load(ValidatedFetch(FetchDescription(entityName: entity.name), in: persistentStoreCoordinator.managedObjectModel))
        }
        try advance()
    }

    // MARK: Unsaved changes

    /// Adds the changes of the ancestor contexts, then those of this one.
    private func addChanges(of closure: ClosureDescription, to changes: inout ClosureChanges) {
        parent?.addChanges(of: closure, to: &changes)
        guard !tracker.objects.isEmpty else { return }
        for (step, relationship) in closure.path.enumerated() {
            for object in pendingView(relationship.entity, includesSubentities: true, reads: PropertySet(relationship)).all {
                changes.overlay.destinations[step][object.registryKey]
                    = object.isDeleted ? [] : destinations(of: object, relationship).map { changes.reference($0) }
            }
            guard let destination = relationship.destinationEntity else { continue }
            for object in pendingView(destination, includesSubentities: true, reads: PropertySet()).all where object.isDeleted {
                changes.overlay.deleted.insert(object.registryKey)
            }
        }
    }

    private func destinations(of object: ManagedObject, _ relationship: PropertyDescription) -> [ManagedObject] {
        if relationship.isToMany { return object.members(of: relationship).map { self.object(with: $0) } }
        return object.destination(of: relationship).map { [$0] } ?? []
    }

    /// The keys of the objects that satisfy the condition, if unsaved changes affect it; nil if the store can test it.
    private func keysOfPassing(_ closure: ClosureDescription) throws -> Set<UInt64>? {
        guard let predicate = closure.predicate else { return nil }
        let request = FetchDescription(entityName: closure.destination.name, predicate: predicate)
        let fetch = try ValidatedFetch(request, in: persistentStoreCoordinator.managedObjectModel)
        return try isAffectedByChanges(fetch) ? Set(findPrepared(fetch).map { reference($0).key }) : nil
    }

    private func isAffectedByChanges(_ fetch: ValidatedFetch) throws -> Bool {
        guard case .storeOnly = try pendingPlan(for: fetch) else { return true }
        return try parent?.isAffectedByChanges(fetch) ?? false
    }

    private func reference(_ found: FoundObject) -> ObjectReference {
        switch found {
        case .stored(let row): row.reference
        case .object(let object): object.reference
        }
    }
}

/// The changes that a closure includes, and the IDs of new objects among them.
private struct ClosureChanges {
    var overlay: ClosureOverlay
    private(set) var temporaryIDs: [UInt64: ManagedObjectID] = [:]

    init(stepCount: Int) { overlay = ClosureOverlay(stepCount: stepCount) }

    mutating func reference(_ object: ManagedObject) -> ObjectReference {
        if object.objectID.isTemporaryID { temporaryIDs[object.registryKey] = object.objectID }
        if object.isInserted || object.parentObject?.isInserted == true { overlay.new.insert(object.registryKey) }
        return object.reference
    }
}

extension PropertySet {
    fileprivate init(_ property: PropertyDescription) {
        self.init()
        insert(property.index)
    }
}

extension ClosureDescription {
    fileprivate init(_ keyPath: String, from entity: EntityDescription, depth: Int?, _ predicate: FetchPredicate?) throws {
        func invalid(_ message: String) -> HornbeamError {
            HornbeamError(
                .predicateInvalid, "A closure of “\(entity.name)” over “\(keyPath)” is impossible: \(message)", entity: entity.name, key: keyPath)
        }
        var path: [PropertyDescription] = []
        var destination = entity
        for name in keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init) {
            let property = try destination.property(named: name)
            guard property.isRelationship, !property.isTransient, let next = property.destinationEntity else {
                throw invalid("“\(name)” is not a stored relationship.")
            }
            path.append(property)
            destination = next
        }
        guard destination.isKind(of: path[0].entity) || path[0].entity.isKind(of: destination) else {
            throw invalid("the path leads to “\(destination.name)”, which does not have the relationship “\(path[0].name)”.")
        }
        if let depth, depth < 0 { throw invalid("the depth must be 0 or more, and \(depth) was given.") }
        try predicate?.validated(for: destination)
        self.init(path: path, depth: depth ?? .max, predicate: predicate, destination: destination)
    }
}
