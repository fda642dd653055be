internal import HornbeamModel
internal import HornbeamStore

// Keeping the book of changed objects.

extension ManagedObjectContext {
    /// True when a save would write something (MOC-8).
    public var hasChanges: Bool { tracker.objects.all.contains { $0.hasChanges } }

    /// The new objects of the next save (MOC-7).
    public var insertedObjects: Set<ManagedObject> { Set(tracker.objects.all.filter { $0.isInserted && !$0.isDeleted }) }
    /// The changed objects of the next save, without new and deleted ones (MOC-7).
    public var updatedObjects: Set<ManagedObject> { Set(tracker.objects.all.filter(\.isUpdated)) }
    /// The objects that the next save deletes (MOC-7).
    public var deletedObjects: Set<ManagedObject> { Set(tracker.objects.all.filter { $0.state.contains(.deleted) }) }

    /// Marks an object as changed. Called by every change.
    func noteChange(of object: ManagedObject, isNew: Bool = false) {
        require(
            !role.isAfterlife,
            "An object of \(object.scope.entity.name) was changed after its context was released. Keep the "
                + "context until it has saved.")
        if tracker.note(object, isNew: isNew) { tracker.eventBegan?() }
    }

    /// An object whose values are what the store has again is not updated any more.
    func settleUpdatedState(of object: ManagedObject) {
        guard object.state.contains(.updated), !object.state.contains(.inserted) else { return }
        if object.record?.changed.isEmpty ?? true { object.state.remove(.updated) }
    }

    /// Checks an unchanged object at the next save, which throws when others changed or deleted the object since this call (MOC-26).
    ///
    /// For decisions that rest on objects which the save does not change. A context that follows shows others' changes of the object, and
    /// the save is refused all the same; a child shows the object as it was. `refresh` begins anew. Merge policies other than `error` let
    /// others' change stand. Does nothing for detached objects.
    public func detectConflicts(for object: ManagedObject) {
        guard !object.isDetached else { return }
        _ = object.writableRecord()
        object.state.insert(.watched)
        if !object.state.contains(.tracked) { tracker.objects.append(object) }
    }

    /// Settles what happened since the last time, and tells observers (MOC-18).
    ///
    /// Called by itself before a fetch, a count and a save, at the end of `perform`, and for the view context at the end of the main
    /// actor's turn.
    public func processPendingChanges() {
        undoStack?.closeEvent()
        guard let past = tracker.takeEvent() else { return }
        // A copy: to look at a value may call a hook that changes other objects.
        let views = tracker.objects.views
        for (object, _, _) in past.touched {
            settleUpdatedState(of: object)
            object.state.remove(.touched)
            views.note(object)
        }
        postObjectsDidChange(past)
        for (object, _, _) in past.touched {
            object.record?.changedInEvent.removeAll()
            if !object.hasChanges { tracker.objects.noteIdle() }
        }
    }

    /// The end of a `perform`: changes are settled and unused objects let go (MOC-2).
    func endOfEvent() {
        processPendingChanges()
        forgetAhead()
        sweepIfDue()
    }

    /// The end of the main actor's turn: the view context and the contexts below it settle their changes, and those below take in what
    /// happened above them.
    func endOfTurn() {
        processPendingChanges()
        for child in family.children.compactMap(\.context) {
            if child.automaticallyMergesChangesFromParent { child.mergeByItself { try child.mergeChanges() } }
            child.endOfTurn()
        }
    }

    /// Between two uses: a context that follows the store moves on, and one that holds no object lets go of
    /// its state of the store, which is what keeps old pages alive.
    func rest() {
        sweepIfDue()
        guard !reading.isPinned else { return }
        if registry.count == 0, observers.listeners.isEmpty, observers.mailboxes.isEmpty {
            merging.inbox.skip()
            reading.isAway = false
            snapshot = nil
        } else if automaticallyMergesChangesFromParent {
            mergeByItself { try advance() }
        }
    }

    /// Merges remote saves where no caller waits; a failure goes to `onMergeFailure`.
    func mergeByItself(_ merge: () throws -> Void) {
        do {
            try merge()
            merging.lastFailure = nil
        } catch {
            let failure = error as? HornbeamError
                ?? HornbeamError(.general, "Merging changes failed.", cause: "\(error)", underlyingError: error)
            merging.lastFailure = failure
            onMergeFailure?(failure)
        }
    }

    /// Lets go of the objects that nobody uses, and of those that were made ahead of their use.
    func sweep() {
        forgetAhead()
        let count = registry.count
        registry.sweep()
        FreedMemory.giveBack(after: count - registry.count)
    }

    func sweepIfDue() {
        if registry.isSweepDue, !retainsRegisteredObjects { sweep() }
    }
}
