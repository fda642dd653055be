internal import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// Discards all changes: new objects are removed, deleted objects restored, and values become the committed ones (MOC-21).
    ///
    /// Reads nothing from the store.
    public func rollback() {
        undoStack?.removeAllActions()
        let rolledBack = tracker.objects.all
        let changes = changesOfRollback
        for object in tracker.objects.all {
            if object.isInserted {
                forget(object)
            } else {
                restore(object)
            }
            object.state.remove([.tracked, .touched])
        }
        tracker.forget()
        merging.report = MergeReport()
        saving.doubt = nil
        for object in rolledBack where !object.state.contains(.detached) { object.awake(fromSnapshotEvents: .rollback) }
        postObjectsDidChange(changes)
    }

    /// The changes by a rollback, from the state that observers know: they have not been notified of the current event.
    private var changesOfRollback: ObjectChanges {
        var changes = ObjectChanges()
        let notNotified = tracker.event.new
        let states = Dictionary(uniqueKeysWithValues: tracker.event.touched.map { (ObjectIdentifier($0.object), $0.before) })
        for object in tracker.objects.all {
            let notifiedState = states[ObjectIdentifier(object)] ?? object.state
            if object.isInserted {
                if !notNotified.contains(ObjectIdentifier(object)), !notifiedState.contains(.deleted) { changes.deleted.insert(object.objectID) }
            } else if notifiedState.contains(.deleted) {
                changes.inserted.insert(object.objectID)
            } else if notifiedState.contains(.updated) || object.hasChanges {
                changes.refreshed.insert(object.objectID)
            }
        }
        return changes
    }

    private func restore(_ object: ManagedObject) {
        object.state.remove([.updated, .deleted, .changedSinceWillSave, .watched, .failed])
        guard let record = object.record else { return }
        defer { observers.hub?.notifyOfChange(object) }
        record.discardChanges()
        record.version = 0
        readParent(object)
        if record.held.isEmpty, record.frozenRow == nil { object.record = nil }
    }

    /// Releases all objects and discards all changes (MOC-22).
    ///
    /// Objects in use are detached: their properties are zero, and setting the properties has no effect.
    public func reset() {
        undoStack?.removeAllActions()
        for object in registry.objects {
            object.willTurnIntoFault()
            object.record = nil
            object.hint = RowHint()
            object.state = object.state.intersection(.temporary).union([.fault, .detached])
            object.didTurnIntoFault()
        }
        let count = registry.count
        registry.removeAll()
        FreedMemory.returnToSystem(after: count)
        releaseReadAhead()
        tracker.forget()
        failures = ReadFailures()
        merging.changeQueue.skip()
        snapshot = nil
        reading.needsFullMerge = false
        merging.report = MergeReport()
        saving.doubt = nil
        postObjectsDidChange(ObjectChanges(invalidatedAll: true))
    }

    /// Reads an object again (MOC-19).
    ///
    /// - Parameters:
    ///   - object: The object to read; has no effect if it is new or belongs to another context.
    ///   - mergeChanges: If true, pending changes and transient values stay and cover the new values; the next save then
    ///     overwrites the changes that other saves made until now. If false, they are discarded. An object without changes becomes a fault in both cases.
    /// - Throws: The store's error.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
        try advance()
        guard object.managedObjectContext === self, !object.isInserted else { return }
        reread(object, mergeChanges: mergeChanges, resolving: true)
        tracker.event.refreshed.insert(object.objectID)
    }

    /// Reads every object again. Changed objects keep their changes; the others become faults (MOC-20).
    ///
    /// - Throws: The store's error.
    public func refreshAllObjects() throws {
        processPendingChanges()
        try advance()
        for object in registry.objects where !object.isInserted {
            reread(object, mergeChanges: true, resolving: true)
            tracker.event.refreshed.insert(object.objectID)
        }
        processPendingChanges()
    }

    /// Takes the current values of the parent or the store as the base values of the pending changes.
    private func updateOriginals(of object: ManagedObject, resolving: Bool) {
        if parent != nil {
            if let row = recordingFailure(object, { try parentRow(of: object) }) { rebase(object, on: row, resolving: resolving) }
        } else {
            object.record?.frozenRow = nil
            if let snapshot { rebase(object, snapshot, resolving: resolving) }
        }
    }

    /// - Parameter resolving: True if this call resolves conflicts; false if the save resolves them.
    func reread(_ object: ManagedObject, mergeChanges: Bool, resolving: Bool = false) {
        failures.forget(object.objectID)
        tracker.countEdit()
        tracker.objects.views.forget()
        object.state.remove(.failed)
        if mergeChanges, object.hasChanges {
            object.record?.fetched.removeAll()
            updateOriginals(of: object, resolving: resolving)
            object.awake(fromSnapshotEvents: .refresh)
        } else {
            object.state.remove([.deleted, .updated])
            object.turnIntoFault(keepingTransients: mergeChanges)
        }
        if resolving, object.state.contains(.watched) { object.watchCurrentVersion() }
    }
}
