internal import HornbeamModel
internal import HornbeamStore

// A failed sync leaves a save in doubt: its changes may be on the disk or not. The context keeps them as unsaved, and
// remembers what the save would have written. Once the store was opened again, its newest transaction tells: either the
// save is there, and what it wrote becomes the base of whatever changed since, or it is not, and all is still to be saved.
// A save over several stores can be in doubt too after it has happened, while a store could not write its part: until it can,
// the context reads the state before the save, with the changes on top.

/// What a save in doubt would have written.
struct SaveDoubt {
    let save: DoubtfulSave
    let inserted: [(object: ManagedObject, reference: ObjectReference)]
    let updated: [ManagedObject]
    let deleted: [ManagedObject]

    init(_ save: DoubtfulSave, _ draft: SaveDraft, _ tracked: [ManagedObject]) {
        self.save = save
        let named = tracked.filter { $0.isInserted && !$0.state.contains(.temporary) }
        inserted = draft.newKeys.map { (object: $0.0, reference: $0.1) } + named.map { (object: $0, reference: $0.reference) }
        updated = tracked.filter { $0.isUpdated && !$0.isInserted && !$0.state.contains(.deleted) }
        deleted = draft.deleted
    }
}

extension ManagedObjectContext {
    /// Finds out what became of a save in doubt, once its stores can tell.
    ///
    /// - Throws: The store's error; the doubt stays then.
    func settleDoubt() throws {
        guard let doubt = saving.doubt else { return }
        switch try persistentStoreCoordinator.stack.outcome(of: doubt.save) {
        case .unknown: return
        case .dropped:
            saving.doubt = nil
            // The state that it was pinned to went with the store that failed.
            if reading.isPinned { try move() }
        case .kept: try takeAsSaved(doubt)
        }
    }

    /// True while a save has happened and not all of its stores show it: reads stay at the state before it.
    func staysBeforeDoubt() -> Bool {
        guard let doubt = saving.doubt, doubt.save.isDecided, snapshot?.stack === persistentStoreCoordinator.stack else { return false }
        do { try settleDoubt() } catch { return true }
        return saving.doubt != nil
    }

    private func takeAsSaved(_ doubt: SaveDoubt) throws {
        let new = try newestSnapshot()
        let inserted = try doubt.inserted.map { ($0.object, $0.reference, try row($0.object.scope.entity, $0.reference, new)) }
        let updated = try doubt.updated.map { ($0, try row($0.scope.entity, $0.reference, new)) }
        saving.doubt = nil
        var ids: [ManagedObjectID: ManagedObjectID] = [:]
        for (object, reference, _) in inserted where object.isInserted { ids[object.objectID] = objectID(reference) }
        adopt(ids)
        for (object, _, row) in inserted where object.isInserted { settle(object, asStored: row) }
        for (object, row) in updated where !object.state.contains(.deleted) {
            guard let row else { continue }
            object.adopt(row.values, version: row.version)
            settleUpdatedState(of: object)
        }
        for object in doubt.deleted where object.state.contains(.deleted) { object.state.insert(.gone) }
        tracker.objects.compact()
        // What others did meanwhile cannot be told from what was lost: everything is compared.
        merging.inbox.overflow()
        try move()
        followSaveBelow()
        rebaseMembers()
        for object in inserted.map(\.0) + updated.map(\.0) { dropSettledMembers(of: object) }
        // New objects that were deleted meanwhile have vanished here; their rows are to be deleted like any others.
        for (object, reference, row) in inserted where !object.isInserted && object.state.contains(.detached) && row != nil {
            withoutUndo { delete(self.object(with: objectID(reference))) }
        }
        tracker.objects.compact()
    }

    /// Members that the save wrote are no change any more.
    private func dropSettledMembers(of object: ManagedObject) {
        guard let record = object.record, !object.isInserted, !object.state.contains(.deleted) else { return }
        for (index, change) in record.toMany where change.isEmpty {
            record.toMany[index] = nil
            record.removeChange(of: index)
        }
        settleUpdatedState(of: object)
    }

    private func row(_ entity: EntityDescription, _ reference: ObjectReference, _ snapshot: StackSnapshot) throws -> RowValues? {
        try snapshot[reference.slot]?.values(entity, StoreSlot.local(reference.key))
    }

    /// A new object has a row already: what differs from it is an update.
    private func settle(_ object: ManagedObject, asStored row: RowValues?) {
        // Others deleted it since the store was opened: it is new still.
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
        settleUpdatedState(of: object)
    }
}
