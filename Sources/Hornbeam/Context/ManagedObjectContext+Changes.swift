internal import HornbeamModel
internal import HornbeamStore

// Tracking of changed objects.

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

    /// An object whose values equal those of the store again is no longer updated.
    func settleUpdatedState(of object: ManagedObject) {
        guard object.state.contains(.updated), !object.state.contains(.inserted) else { return }
        if object.record?.changed.isEmpty ?? true { object.state.remove(.updated) }
    }

    /// Watches an unchanged object: the next save throws if others changed or deleted the object since this call (MOC-26).
    ///
    /// For decisions that depend on objects that the save does not change. A context that merges remote changes shows others' changes of the
    /// object, and the save still fails; a child shows the object unchanged. `refresh` starts again from the current values. Merge policies
    /// other than `error` accept others' change. Does nothing for detached objects.
    public func detectConflicts(for object: ManagedObject) {
        guard !object.isDetached else { return }
        _ = object.writableRecord()
        object.state.insert(.watched)
        if !object.state.contains(.tracked) { tracker.objects.append(object) }
    }

    /// Processes the changes since the last call, and notifies observers (MOC-18).
    ///
    /// Called automatically before a fetch, a count and a save, at the end of `perform`, and for the view context at the end of the main
    /// actor's turn.
    public func processPendingChanges() {
        undoStack?.closeEvent()
        guard let past = tracker.takeEvent() else { return }
        // A copy, because reading a value may call a hook that changes other objects.
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

    /// The end of a `perform`: processes changes and releases unused objects (MOC-2).
    func endOfEvent() {
        processPendingChanges()
        forgetAhead()
        sweepIfDue()
    }

    /// The end of the main actor's turn: the view context and its descendants process their changes, and the descendants merge the changes of
    /// their parents.
    func endOfTurn() {
        processPendingChanges()
        for child in family.children.compactMap(\.context) {
            if child.automaticallyMergesChangesFromParent { child.mergeByItself { try child.mergeChanges() } }
            child.endOfTurn()
        }
    }

    /// Called between two uses: a context that merges automatically switches to the newest state, and one without objects releases
    /// its snapshot, which would keep old pages.
    func rest() {
        sweepIfDue()
        guard !reading.isPinned else { return }
        if registry.count == 0, observers.isEmpty {
            merging.inbox.skip()
            reading.isAway = false
            snapshot = nil
        } else if automaticallyMergesChangesFromParent {
            mergeByItself { try advance() }
        }
    }

    /// Merges remote changes without a caller that could receive an error; a failure is passed to `onMergeFailure`.
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

    /// Releases unused objects, and those that were created ahead of their use.
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
