internal import HornbeamModel
internal import HornbeamStore

// Pinning a context to a state of the store, and reading older states (section 1.17).

extension ManagedObjectContext {
    /// The state to which this context is pinned; nil when it is not pinned, which is the default and the state of every child (QGN-1, QGN-4).
    public var queryGenerationToken: QueryGenerationToken? {
        guard reading.isPinned else { return nil }
        return snapshot.map { QueryGenerationToken(.state($0)) } ?? .current
    }

    /// Pins the context to a state: fetches, counts and faults read this state regardless of later saves (QGN-1).
    ///
    /// A save, merge or reset switches it to the newest state, where it stays pinned; batch requests do not
    /// (QGN-2). Unchanged objects show the state at once; pending changes stay (QGN-3). A save from an old state conflicts with
    /// later changes of others (QGN-6). Nil ends the pinning.
    /// - Throws: `unsupportedRequest` in a child context, or for a token of another store; the store's error.
    public func setQueryGeneration(from token: QueryGenerationToken?) throws {
        guard parent == nil else {
            throw HornbeamError(
                .unsupportedRequest,
                "A child context reads from its parent and cannot be pinned. Pin the outermost context.")
        }
        processPendingChanges()
        switch token?.generation {
        case nil:
            reading.isPinned = false
            if snapshot != nil { try move() }
        case .newest:
            reading.isPinned = true
            try move()
        case .state(let state):
            guard let own = try state.seen(by: persistentStoreCoordinator.stack) else { throw Self.foreignState }
            reading.isPinned = true
            travel(to: own)
        }
        processPendingChanges()
    }

    private static var foreignState: HornbeamError {
        HornbeamError(
            .unsupportedRequest, "The query generation belongs to other stores than those of this context. Take one from its coordinator.")
    }

    /// Switches to an older or newer state. The change queue cannot be used for this.
    private func travel(to new: StackSnapshot) {
        merging.inbox.skip()
        reading.isAway = true
        arrive(at: new, rebasing: false)
    }

    /// Switches to a state without merging commits: unchanged objects become faults, and those that the
    /// state lacks are deleted.
    ///
    /// - Parameter rebasing: True when the state is the newest and becomes the base of pending changes.
    /// - Returns: The changes that observers received.
    @discardableResult
    func arrive(at new: StackSnapshot, rebasing: Bool) -> ObjectChanges {
        var merged = MergedChanges(isElsewhere: true)
        let old = snapshot
        snapshot = new
        tracker.noteEdit()
        for object in registry.objects where !object.isInserted {
            object.hint = RowHint()
            if !object.hasChanges {
                show(object, in: new, insteadOf: old, &merged.changes)
            } else if rebasing, automaticallyMergesChangesFromParent {
                renewBase(of: object, in: new)
            }
        }
        rebaseMembers()
        if rebasing { dropMissingMembers(new, &merged.changes) }
        merged.formUnion(followParent())
        return announce(merged)
    }

    private func show(_ object: ManagedObject, in new: StackSnapshot, insteadOf old: StackSnapshot?, _ changes: inout ObjectChanges) {
        if isMissing(object, in: new) {
            if let old, !object.isFault { object.freezeRow(from: old) }
            if !object.isDeleted { changes.deleted.insert(object.objectID) }
            takeInDeletion(of: object)
        } else {
            object.turnIntoFault()
            changes.refreshed.insert(object.objectID)
        }
    }

    private func renewBase(of object: ManagedObject, in new: StackSnapshot) {
        if isMissing(object, in: new) {
            takeInDeletion(of: object)
        } else {
            rebase(object, new)
        }
    }

    /// False in a child, whose objects are read from the parent.
    private func isMissing(_ object: ManagedObject, in state: StackSnapshot) -> Bool {
        guard !object.scope.isNested else { return false }
        return (try? state[object.scope.slot]?.exists(object.scope.entity, object.key)) == false
    }
}
