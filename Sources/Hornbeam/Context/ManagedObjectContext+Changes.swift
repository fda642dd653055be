internal import HornbeamModel
internal import HornbeamStore

// Tracking of changed objects.

extension ManagedObjectContext {
    /// True if a save would write something (MOC-8).
    public var hasChanges: Bool { tracker.objects.all.contains { $0.hasChanges } }

    /// The new objects of the next save (MOC-7).
    public var insertedObjects: Set<ManagedObject> { Set(tracker.objects.all.filter { $0.isInserted && !$0.isDeleted }) }
    /// The changed objects of the next save, without new and deleted ones (MOC-7).
    public var updatedObjects: Set<ManagedObject> { Set(tracker.objects.all.filter(\.isUpdated)) }
    /// The objects that the next save deletes (MOC-7).
    public var deletedObjects: Set<ManagedObject> { Set(tracker.objects.all.filter { $0.state.contains(.deleted) }) }

    /// Marks an object as changed. Called by every change.
    func recordChange(of object: ManagedObject, isNew: Bool = false) {
        require(
            !role.isDetachedReader,
            "An object of \(object.scope.entity.name) was changed after its context was released. Keep the "
                + "context until it has saved.")
        if tracker.recordChange(of: object, isNew: isNew) { tracker.eventBegan?() }
    }

    /// Clears `updated` if the values equal those of the store again.
    func clearUpdatedIfUnchanged(of object: ManagedObject) {
        guard object.state.contains(.updated), !object.state.contains(.inserted) else { return }
        if object.record?.changed.isEmpty ?? true { object.state.remove(.updated) }
    }

    /// Makes the next save throw if other saves change or delete an object after this call, although this context does not change it (MOC-26).
    ///
    /// Use it for decisions that depend on objects that the save does not write. In a context that merges remote changes, a merge can show another
    /// save's change of the object, and the save fails nevertheless; a child context shows the object unchanged. `refresh` makes the current
    /// values the ones that the save compares. Merge policies other than `error` accept the other save. Does nothing for detached objects.
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
        // A copy: reading a value may call a hook that changes other objects.
        let views = tracker.objects.views
        for (object, _, _) in past.touched {
            clearUpdatedIfUnchanged(of: object)
            readParent(object)
            object.state.remove(.touched)
            views.note(object)
        }
        postObjectsDidChange(past)
        for (object, _, _) in past.touched {
            object.record?.changedInEvent.removeAll()
            if !object.hasChanges { tracker.objects.countUnchanged() }
        }
    }

    /// Called at the end of a `perform`: processes pending changes and releases unused objects (MOC-2).
    func endEvent() {
        processPendingChanges()
        releaseReadAhead()
        sweepIfDue()
    }

    /// Called at the end of the main actor's turn. The view context and its descendants process their pending changes, and the descendants merge the
    /// changes of their parents.
    func endMainActorTurn() {
        processPendingChanges()
        for child in family.children.compactMap(\.context) {
            if child.automaticallyMergesChangesFromParent { child.mergeAutomatically { try child.mergeChanges() } }
            child.endMainActorTurn()
        }
    }

    /// Called between two uses of the context. A context that merges automatically switches to the newest snapshot. One without objects releases
    /// its snapshot, which would keep old pages from being freed.
    func becomeIdle() {
        sweepIfDue()
        guard !reading.isPinned else { return }
        if registry.count == 0, observers.isEmpty {
            merging.changeQueue.skip()
            reading.needsFullMerge = false
            snapshot = nil
        } else if automaticallyMergesChangesFromParent {
            mergeAutomatically { try advance() }
        }
    }

    /// Runs a merge for which no caller can receive an error. A failure is passed to `onMergeFailure`.
    func mergeAutomatically(_ merge: () throws -> Void) {
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

    /// Releases unused objects, including those that were read ahead.
    func sweep() {
        releaseReadAhead()
        let count = registry.count
        registry.sweep()
        FreedMemory.returnToSystem(after: count - registry.count)
    }

    /// Releases an object that is not in use, unless it is of a small store.
    func releaseUnused(_ key: UInt64) {
        if !retainsRegisteredObjects { registry.releaseUnused(key) }
    }

    /// The objects of small stores stay registered when they are not in use.
    func keepUnusedObjectsOfSmallStores() { registry.keepUnusedObjects(ofRows: scopes.rowCount) }

    @usableFromInline
    func sweepIfDue() {
        guard registry.isSweepDue || registry.isSweepOfNewObjectsDue, !retainsRegisteredObjects else { return }
        keepUnusedObjectsOfSmallStores()
        if registry.isSweepDue { sweep() } else if registry.isSweepOfNewObjectsDue { registry.sweepNewObjects() }
    }
}
