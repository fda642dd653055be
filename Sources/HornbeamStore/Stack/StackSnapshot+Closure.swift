internal import HornbeamEngine
package import HornbeamModel

/// The objects that are reached from others by following a path repeatedly.
package struct ClosureDescription {
    /// Relationships. The last one leads to objects from which the first one can be followed again.
    package let path: [PropertyDescription]
    /// The largest number of times that the path is followed.
    package let depth: Int
    /// The condition on each reached object. Objects that do not satisfy it are neither results nor followed.
    package let predicate: FetchPredicate?
    /// The entity of the objects at the end of the path.
    package let destination: EntityDescription

    package init(path: [PropertyDescription], depth: Int, predicate: FetchPredicate?, destination: EntityDescription) {
        self.path = path
        self.depth = depth
        self.predicate = predicate
        self.destination = destination
    }
}

/// The unsaved changes of a context that a closure includes.
package struct ClosureOverlay {
    /// For each relationship of the path, the destinations of the objects whose destinations differ from the store, by key.
    package var destinations: [[UInt64: [ObjectReference]]]
    package var deleted: Set<UInt64> = []
    /// The keys of new objects. They have no rows, also if their keys are permanent.
    package var new: Set<UInt64> = []
    /// The keys of all objects that satisfy the condition; nil if the store can test it.
    package var passing: Set<UInt64>?

    package init(stepCount: Int) { destinations = Array(repeating: [:], count: stepCount) }
}

extension StackSnapshot {
    /// The objects of a closure without its roots: at index i, in ascending order of their keys, those that are reached by following the path i + 1 times
    /// and not fewer.
    package func closure(
        _ closure: ClosureDescription, from roots: [ObjectReference], with overlay: ClosureOverlay
    ) throws -> [[ObjectReference]] {
        var walk = ClosureWalk(snapshot: self, closure: closure, overlay: overlay)
        return try walk.levels(from: roots)
    }
}

/// A breadth-first search, one relationship of one level at a time.
private struct ClosureWalk {
    let snapshot: StackSnapshot
    let closure: ClosureDescription
    let overlay: ClosureOverlay
    /// The objects that each relationship of the path has led to.
    private var visited: [VisitedKeys]
    private var walks: [StoreSlot: RelationshipWalk] = [:]

    init(snapshot: StackSnapshot, closure: ClosureDescription, overlay: ClosureOverlay) {
        self.snapshot = snapshot
        self.closure = closure
        self.overlay = overlay
        visited = Array(repeating: VisitedKeys(), count: closure.path.count)
    }

    mutating func levels(from roots: [ObjectReference]) throws -> [[ObjectReference]] {
        var levels: [[ObjectReference]] = []
        var objects = ObjectSet.ascending(roots)
        for root in objects { _ = visited[closure.path.count - 1].insert(root.key) }
        while levels.count < closure.depth {
            for step in closure.path.indices { objects = try destinations(of: objects, step) }
            objects = try passing(objects)
            if objects.isEmpty { break }
            levels.append(objects)
        }
        return levels
    }

    /// The destinations that were not reached before, ascending.
    private mutating func destinations(of owners: [ObjectReference], _ step: Int) throws -> [ObjectReference] {
        let changed = overlay.destinations[step]
        var reached: [ObjectReference] = []
        var stored = owners
        if !changed.isEmpty {
            stored = owners.filter { changed[$0.key] == nil }
            for owner in owners { for object in changed[owner.key] ?? [] { reach(object, step, &reached) } }
        }
        for (slot, owners) in bySlot(stored) {
            let walk = try walk(slot)
            try walk.context.run { () throws(EngineError) in
                try walk.forEachDestination(of: owners, over: closure.path[step]) { reach($0.inSlot(slot), step, &reached) }
            }
        }
        return ObjectSet.ascending(reached)
    }

    private mutating func reach(_ object: ObjectReference, _ step: Int, _ reached: inout [ObjectReference]) {
        guard visited[step].insert(object.key), overlay.deleted.isEmpty || !overlay.deleted.contains(object.key) else { return }
        reached.append(object)
    }

    // MARK: Conditions

    private mutating func passing(_ objects: [ObjectReference]) throws -> [ObjectReference] {
        if let passing = overlay.passing { return objects.filter { passing.contains($0.key) } }
        var passing = objects.filter { !hasRow($0) }
        for (slot, stored) in bySlot(objects) {
            let walk = try walk(slot)
            guard walk.mustTest(after: closure.path[closure.path.count - 1]) else {
                passing += stored.map { $0.inSlot(slot) }
                continue
            }
            passing += try walk.context.run { () throws(EngineError) in try walk.passing(stored) }.map { $0.inSlot(slot) }
        }
        return ObjectSet.ascending(passing)
    }

    // MARK: Stores

    private mutating func walk(_ slot: StoreSlot) throws -> RelationshipWalk {
        if let known = walks[slot] { return known }
        let walk = RelationshipWalk(FilterContext(try snapshot.part(slot)), closure.predicate, on: closure.destination)
        walks[slot] = walk
        return walk
    }

    /// False for a new object.
    private func hasRow(_ object: ObjectReference) -> Bool { !object.isTemporary && (overlay.new.isEmpty || !overlay.new.contains(object.key)) }

    /// The stored objects of each store, with local keys.
    private func bySlot(_ objects: [ObjectReference]) -> [StoreSlot: [ObjectReference]] {
        let stored = objects.allSatisfy(hasRow) ? objects : objects.filter(hasRow)
        if stored.isEmpty { return [:] }
        if snapshot.only != nil { return [.first: stored] }
        return Dictionary(grouping: stored, by: \.slot).mapValues { $0.map(\.local) }
    }
}

extension ObjectReference {
    /// True for the key of a temporary ID.
    fileprivate var isTemporary: Bool { key >> 63 == 1 }
}
