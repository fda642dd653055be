internal import Foundation
internal import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// Writes all changes in one transaction. They are durable on return (section 1.14).
    ///
    /// Does nothing without changes. If it throws, nothing was written, and the changes stay in the context:
    /// correct them, call `rollback()`, or set a merge policy, and save again.
    ///
    /// Two errors have another outcome; the changes stay in the context too. After `durabilityLost`, it is unknown whether the save is durable until
    /// `reopenFailedStores()` is called. After `incompleteSave` (134040), the save is committed, but one of several stores could not write
    /// its part yet. The next save determines the outcome or completes the earlier save. No change is written twice. The same holds for
    /// `storeOperationFailed` if the server of a store cannot be reached; its message then states that the outcome is unknown.
    /// - Throws: All validation errors together (`multipleErrors` 1560 if there are several); `mergeConflict` 133020;
    ///   `constraintConflict` 133021; the errors of a custom merge policy; read failures of getters (`readFailures`); the store's error.
    public func save() throws {
        require(!saving.isSaving, "save() was called inside willSave or didSave of the same context.")
        saving.isSaving = true
        defer { saving.isSaving = false }
        processPendingChanges()
        tracker.objects.compact()
        try requireNoReadFailures()
        if let failure = firstFailure() { throw failure }
        try resolveInDoubtSave()
        if let doubt = saving.doubt { throw doubt.save.error }
        guard hasChanges || !tracker.objects.isEmpty else { return }
        post(.willSaveObjects, WillSave())
        try runWillSaveHooks()
        try mergeBeforeSave()
        try withoutUndo { try computeDerivedValues() }
        if !role.skipsValidation { try validate() }
        try requireNoReadFailures()
        removeUnsavedDeletions()
        try saving.beforeWrite?()
        if let parent { try push(into: parent) } else { try write() }
    }

    private func firstFailure() -> HornbeamError? {
        for object in tracker.objects.all {
            if let failure = failure(of: object) { return failure }
        }
        return nil
    }

    /// Calls `willSave` of the changed objects until the calls change no object any more (SAV-4, OBJ-5).
    private func runWillSaveHooks() throws {
        for object in tracker.objects.all { object.state.insert(.changedSinceWillSave) }
        var rounds = 0
        while true {
            let changedSinceWillSave = tracker.objects.filter { $0.state.contains(.changedSinceWillSave) && $0.hasChanges }
            if changedSinceWillSave.isEmpty { break }
            rounds += 1
            guard rounds <= 1000 else {
                throw HornbeamError(
                    .general,
                    "willSave of \(changedSinceWillSave[0].scope.entity.name) changed its object 1000 times over. Compare before "
                        + "setting a value there.",
                    entity: changedSinceWillSave[0].scope.entity.name, objectIDs: changedSinceWillSave.map(\.objectID))
            }
            for object in changedSinceWillSave { object.state.remove(.changedSinceWillSave) }
            for object in changedSinceWillSave { object.willSave() }
        }
        processPendingChanges()
        tracker.objects.compact()
    }

    /// Computes the derived attributes that have validation rules (ATT-11). The store computes all derived attributes in the transaction.
    private func computeDerivedValues() throws {
        if tracker.objects.all.allSatisfy({ $0.scope.shape.derived.isEmpty }) { return }
        let now = PropertyValue.date(Date())
        for object in tracker.objects.all where !object.state.contains(.deleted) && object.hasChanges {
            for property in object.scope.shape.derived where property.needsValidation {
                guard let derivation = property.derivation else { continue }
                let value = try derivation.value(of: object, now: now)
                object.assign(try property.coerced(value), to: property)
            }
        }
    }

    /// Merges remote changes before the save, so that the save reports fewer conflicts.
    private func mergeBeforeSave() throws {
        if mergesAutomatically, !hasReadNothing { try advance() }
    }

    private func write() throws {
        for _ in 0..<100 {
            let stack = persistentStoreCoordinator.stack
            try assignStoresToNewObjects(in: stack)
            var draft = ChangeSetBuilder(self, into: stack)
            try draft.build()
            do {
                let commitResult = try draft.stack.save(draft.changes)
                return try finish(draft, commitResult)
            } catch let inDoubt as InDoubtSave {
                saving.doubt = InDoubtChanges(inDoubt, draft, tracker.objects.all)
                throw inDoubt.error
            } catch let conflicts as SaveConflicts {
                observers.hasUnlistedChanges = true
                try withoutUndo { try resolve(conflicts, draft) }
                if !role.skipsValidation { try validate() }
            } catch let error as HornbeamError {
                throw withContextIDs(error, draft)
            }
        }
        throw HornbeamError(
            .mergeConflict,
            "Other contexts changed the same objects a hundred times while this one tried to save. Save less at "
                + "once, or from fewer contexts.")
    }

    /// The error of a store, in which new objects have the IDs that they have in this context.
    private func withContextIDs(_ error: HornbeamError, _ draft: ChangeSetBuilder) -> HornbeamError {
        if error.objectIDs.isEmpty || draft.newKeys.isEmpty { return error }
        let new = Dictionary(draft.newKeys.map { (objectID($0.1), $0.0.objectID) }) { first, _ in first }
        var error = error
        error.objectIDs = error.objectIDs.map { new[$0] ?? $0 }
        return error
    }

    /// The steps after the save is durable (SAV-12).
    private func finish(_ draft: ChangeSetBuilder, _ commitResult: StackCommitResult) throws {
        let saved = tracker.objects.all
        let changes = draft.namesChanges ? draft.notificationChanges(in: commitResult.transaction) : nil
        tracker.countEdit()
        assignPermanentIDs(of: draft)
        for object in draft.deleted { copyDeletedRow(object) }
        for object in saved { markSaved(object) }
        tracker.objects.removeAll()
        finishMergeReport()
        switchToSavedSnapshot(to: commitResult, saved)
        for object in saved { object.didSave() }
        for object in draft.deleted { detachDeleted(object) }
        descendantsReadSavedSnapshot()
        if let changes { post(.didSaveObjectIDs, DidSave(changes: changes), changes) }
        // Fetched results show the objects whose conflicts this save resolved.
        if observers.hasUnlistedChanges { notifyListeners(ObjectChanges()) }
        sweepIfDue()
    }

    /// Runs a body whose changes belong to the save, so that `undo` does not undo them.
    func withoutUndo(_ body: () throws -> Void) rethrows {
        if let undoStack { try undoStack.withoutRegistration(body) } else { try body() }
    }

    func finishMergeReport() {
        merging.finishReport()
        if !tracker.upserted.isEmpty { tracker.upserted.removeAll() }
    }

    /// Replaces the temporary IDs of new objects by permanent ones, here and in descendant contexts.
    private func assignPermanentIDs(of draft: ChangeSetBuilder) {
        var ids: [ManagedObjectID: ManagedObjectID] = [:]
        for (object, reference) in draft.newKeys {
            let old = object.objectID
            rekey(object, to: reference)
            if !family.children.isEmpty { ids[old] = object.objectID }
        }
        if !ids.isEmpty { for child in family.children { child.context?.replaceTemporaryIDs(ids) } }
    }

    /// Switches reads to the saved snapshot. If this fails, the next read tries again.
    private func switchToSavedSnapshot(to commitResult: StackCommitResult, _ saved: [ManagedObject]) {
        if hasReadNothing { return merging.changeQueue.skip() }
        do {
            try move(
                toAtLeast: commitResult.transaction,
                saved: automaticallyMergesChangesFromParent ? [] : Set(saved.map(\.registryKey)))
        } catch {
            snapshot = nil
            reading.needsFullMerge = true
            mergeAutomatically { throw error }
        }
    }

    /// Copies the row of a deleted object into the object, so that references to it can still read its values (C-3).
    private func copyDeletedRow(_ object: ManagedObject) {
        guard let snapshot else { return }
        object.state.remove(.deleted)
        object.freezeRow(from: snapshot)
        object.state.insert(.deleted)
    }

    /// Marks the object as equal to its row.
    private func markSaved(_ object: ManagedObject) {
        let isDeleted = object.state.contains(.deleted)
        object.state.remove([.inserted, .updated, .tracked, .touched, .changedSinceWillSave, .watched])
        guard !isDeleted, object.record != nil else { return }
        object.record = object.transientRecord
        object.hint = RowHint()
    }

    func detachDeleted(_ object: ManagedObject) {
        registry.remove(object.registryKey)
        object.detach()
    }
}
