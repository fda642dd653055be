internal import HornbeamModel
internal import HornbeamStore

// Reading one state of the store for longer than it is the newest, and older states than the newest (section 1.17).

extension ManagedObjectContext {
    /// The state that this context is pinned to; nil when it is not, as at first and in every child (QGN-1, QGN-4).
    public var queryGenerationToken: QueryGenerationToken? {
        guard reading.isPinned else { return nil }
        return snapshot.map { QueryGenerationToken(.state($0)) } ?? .current
    }

    /// Pins the context to a state: fetches, counts and faults read that one, whatever is saved meanwhile (QGN-1).
    ///
    /// It moves to the newest when it saves, merges or is reset, and stays pinned there; batch requests do not move it
    /// (QGN-2). Unchanged objects show the state at once; pending changes stay (QGN-3). A save from an old state meets what others
    /// changed since as conflicts (QGN-6). Nil lets the context move by itself again.
    /// - Throws: `unsupportedRequest` in a child context, or for a token of another store; the store's error.
    public func setQueryGeneration(from token: QueryGenerationToken?) throws {
        guard parent == nil else {
            throw HornbeamError(
                .unsupportedRequest,
                "A child context reads what its parent shows and cannot be pinned. Pin the outermost context.")
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
            .unsupportedRequest, "The query generation is of other stores than this context reads. Take one from its coordinator.")
    }

    /// Goes to a state, older or newer. What was announced since tells nothing about the way back.
    private func travel(to new: StackSnapshot) {
        merging.inbox.skip()
        reading.isAway = true
        arrive(at: new, rebasing: false)
    }

    /// Shows a state that is reached otherwise than by taking in commits: unchanged objects become faults, and those that the
    /// state does not have are deleted.
    ///
    /// - Parameter rebasing: True where the state is the newest, which pending changes take as their base.
    /// - Returns: What observers were told.
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

    /// False in a child, whose objects read from the parent.
    private func isMissing(_ object: ManagedObject, in state: StackSnapshot) -> Bool {
        guard !object.scope.isNested else { return false }
        return (try? state[object.scope.slot]?.exists(object.scope.entity, object.key)) == false
    }
}
