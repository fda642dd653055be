internal import HornbeamModel
internal import HornbeamStore

// In-doubt saves. After a failed sync, the changes of a save may be durable or not. The context keeps them as unsaved changes, and
// records the values that the save wrote. After the store is opened again, its newest transaction determines the outcome: if the
// save is durable, the written values become the base values of later changes; if not, all changes are still unsaved.
// A save over several stores whose commit record is durable is also in doubt while a store has not applied its part. Until then,
// the context reads the snapshot before the save, with its changes.

extension ManagedObjectContext {
    /// Resolves an in-doubt save if its stores can determine the outcome.
    ///
    /// - Throws: The store's error. Then the save stays in doubt.
    func resolveInDoubtSave() throws {
        guard let doubt = saving.doubt else { return }
        switch try persistentStoreCoordinator.stack.outcome(of: doubt.save) {
        case .unknown: return
        case .dropped:
            saving.doubt = nil
            // The pinned snapshot belonged to the failed store.
            if reading.isPinned { try move() }
        case .kept: try applyAsSaved(doubt)
        }
    }

    /// True while a save is committed and some of its stores do not show it. Reads then use the snapshot before the save.
    func mustReadBeforeInDoubtSave() -> Bool {
        guard let doubt = saving.doubt, doubt.save.isCommitted, snapshot?.stack === persistentStoreCoordinator.stack else { return false }
        do { try resolveInDoubtSave() } catch { return true }
        return saving.doubt != nil
    }

    private func applyAsSaved(_ doubt: InDoubtChanges) throws {
        let new = try newestSnapshot()
        let inserted = try doubt.inserted.map { ($0.object, $0.reference, try row($0.object.scope.entity, $0.reference, new)) }
        let updated = try doubt.updated.map { ($0, try row($0.scope.entity, $0.reference, new)) }
        saving.doubt = nil
        var ids: [ManagedObjectID: ManagedObjectID] = [:]
        for (object, reference, _) in inserted where object.isInserted { ids[object.objectID] = objectID(reference) }
        replaceTemporaryIDs(ids)
        for (object, _, row) in inserted where object.isInserted { markSaved(object, asStored: row) }
        for (object, row) in updated where !object.state.contains(.deleted) {
            guard let row else { continue }
            object.rebase(onto: row.values, version: row.version)
            clearUpdatedIfUnchanged(of: object)
        }
        for object in doubt.deleted where object.state.contains(.deleted) { object.state.insert(.gone) }
        tracker.objects.compact()
        // Changes of other saves cannot be distinguished from those of this one, so all objects are compared.
        merging.changeQueue.overflow()
        try move()
        descendantsReadSavedSnapshot()
        rebaseMembers()
        for object in inserted.map(\.0) + updated.map(\.0) { dropSavedMembers(of: object) }
        // New objects that were deleted after the save are not in this context any more. Their rows are deleted like those of other objects.
        for (object, reference, row) in inserted where !object.isInserted && object.state.contains(.detached) && row != nil {
            withoutUndo { delete(self.object(with: objectID(reference))) }
        }
        tracker.objects.compact()
    }

    /// Removes the recorded changes of members that the save has written.
    private func dropSavedMembers(of object: ManagedObject) {
        guard let record = object.record, !object.isInserted, !object.state.contains(.deleted) else { return }
        for (index, change) in record.toMany where change.isEmpty {
            record.toMany[index] = nil
            record.removeChange(of: index)
        }
        clearUpdatedIfUnchanged(of: object)
    }

    private func row(_ entity: EntityDescription, _ reference: ObjectReference, _ snapshot: StackSnapshot) throws -> RowValues? {
        try snapshot[reference.slot]?.values(entity, StoreSlot.local(reference.key))
    }

    /// Marks a new object as stored, because its row exists. Values that differ from the row become an update.
    private func markSaved(_ object: ManagedObject, asStored row: RowValues?) {
        // Another save deleted the row after the store was opened again, so the object is still new.
        guard let row, let record = object.record else { return }
        object.state.remove(.inserted)
        object.hint = RowHint()
        record.version = row.version
        record.changed.removeAll()
        for property in object.scope.properties where !property.isToMany && !property.isTransient {
            let index = property.index
            if record.values[index] == row.values[index] || property.isDerived {
                record.release(index)
            } else {
                record.originals[index] = row.values[index]
                record.changed.insert(index)
            }
        }
        for index in record.toMany.keys { record.changed.insert(index) }
        object.state.insert(.updated)
        clearUpdatedIfUnchanged(of: object)
    }
}

extension InDoubtChanges {
    init(_ save: InDoubtSave, _ draft: ChangeSetBuilder, _ tracked: [ManagedObject]) {
        self.save = save
        let named = tracked.filter { $0.isInserted && !$0.state.contains(.temporary) }
        inserted = draft.newKeys.map { (object: $0.0, reference: $0.1) } + named.map { (object: $0, reference: $0.reference) }
        updated = tracked.filter { $0.isUpdated && !$0.isInserted && !$0.state.contains(.deleted) }
        deleted = draft.deleted
    }
}
