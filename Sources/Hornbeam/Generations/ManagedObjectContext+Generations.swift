internal import HornbeamModel
internal import HornbeamStore

// Pinning a context to a snapshot of the stores, and reading older snapshots (section 1.17).

extension ManagedObjectContext {
    /// The snapshot to which this context is pinned. Nil if it is not pinned: the default, and always so in a child context (QGN-1, QGN-4).
    public var queryGenerationToken: QueryGenerationToken? {
        guard reading.isPinned else { return nil }
        return snapshot.map { QueryGenerationToken(.state($0)) } ?? .current
    }

    /// Pins the context to a snapshot: fetches, counts and faults read it regardless of later saves (QGN-1).
    ///
    /// A save, merge or reset switches the context to the newest snapshot and pins it to that; batch requests do not
    /// (QGN-2). Unchanged objects show the snapshot immediately; pending changes stay (QGN-3). A save from an old snapshot conflicts with
    /// later saves of the same objects (QGN-6). With nil, the context is no longer pinned.
    /// - Throws: `unsupportedRequest` in a child context, or for a token of another store; the store's error.
    public func setQueryGeneration(from token: QueryGenerationToken?) throws {
        guard parent == nil else {
            throw HornbeamError(
                .unsupportedRequest,
                "A child context reads from its parent and cannot be pinned. Pin the outermost context.")
        }
        if token != nil { try persistentStoreCoordinator.stack.requireGenerations() }
        processPendingChanges()
        switch token?.generation {
        case nil:
            reading.isPinned = false
            if snapshot != nil { try move() }
        case .newest:
            reading.isPinned = true
            try move()
        case .state(let state):
            guard let own = try state.seen(by: persistentStoreCoordinator.stack) else { throw Self.otherStoresError }
            reading.isPinned = true
            switchToTokenSnapshot(to: own)
        }
        processPendingChanges()
    }

    /// Throws if the context is pinned to a snapshot and its store answers queries from the newest one.
    func requireUnpinned() throws { if reading.isPinned { try persistentStoreCoordinator.stack.requireGenerations() } }

    private static var otherStoresError: HornbeamError {
        HornbeamError(
            .unsupportedRequest, "The query generation belongs to other stores than those of this context. Get one from its coordinator.")
    }

    /// Switches to an older or newer snapshot. The change queue cannot be used until the next merge of all objects.
    private func switchToTokenSnapshot(to new: StackSnapshot) {
        merging.changeQueue.skip()
        reading.needsFullMerge = true
        switchComparingObjects(at: new, rebasing: false)
    }

    /// Switches to a snapshot without merging single commits. Unchanged objects become faults; those that do not exist in the snapshot
    /// are marked as deleted.
    ///
    /// - Parameter rebasing: True if the snapshot is the newest. Its values then become the base values of the pending changes.
    /// - Returns: The changes that observers received.
    @discardableResult
    func switchComparingObjects(at new: StackSnapshot, rebasing: Bool) -> ObjectChanges {
        var merged = MergedChanges(unlistedEntities: nil)
        let old = snapshot
        snapshot = new
        tracker.countEdit()
        for object in registry.objects where !object.isInserted {
            object.hint = RowHint()
            if !object.hasChanges {
                show(object, in: new, insteadOf: old, &merged.changes)
            } else if rebasing, automaticallyMergesChangesFromParent {
                updateOriginals(of: object, in: new)
            }
        }
        rebaseMembers()
        if rebasing { dropMissingMembers(new, &merged.changes) }
        merged.formUnion(mergeParentChanges())
        return notifyOfMerge(merged)
    }

    private func show(_ object: ManagedObject, in new: StackSnapshot, insteadOf old: StackSnapshot?, _ changes: inout ObjectChanges) {
        if isMissing(object, in: new) {
            if let old, !object.isFault { object.freezeRow(from: old) }
            if !object.isDeleted { changes.deleted.insert(object.objectID) }
            mergeDeletion(of: object)
        } else {
            object.turnIntoFault()
            changes.refreshed.insert(object.objectID)
        }
    }

    private func updateOriginals(of object: ManagedObject, in new: StackSnapshot) {
        if isMissing(object, in: new) {
            mergeDeletion(of: object)
        } else {
            rebase(object, new)
        }
    }

    /// True if the row does not exist in a snapshot. False in a child context, whose objects are read from the parent.
    private func isMissing(_ object: ManagedObject, in state: StackSnapshot) -> Bool {
        guard !object.scope.isNested else { return false }
        return (try? state[object.scope.slot]?.exists(object.scope.entity, object.key)) == false
    }
}

extension StoreStack {
    /// Throws if a store answers queries itself: only the rows in its cache have older states.
    func requireGenerations() throws {
        guard stores.contains(where: \.isQuerying) else { return }
        throw HornbeamError(
            .unsupportedRequest, "The store answers queries from its newest state, so a context of it cannot be pinned to a query generation.")
    }
}
