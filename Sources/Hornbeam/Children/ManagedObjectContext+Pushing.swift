internal import HornbeamModel
internal import HornbeamStore

// The save of a child. Conflicts with the parent are resolved like conflicts with a store. Then the changes
// are applied to the parent (SAV-6). The store is not written, and IDs do not change.

extension ManagedObjectContext {
    func push(into parent: ManagedObjectContext) throws {
        var conflicts = try conflictsWithParent()
        var attempts = 0
        while !conflicts.isEmpty {
            // A merge policy that changes the parent could cause conflicts without end.
            guard attempts < 10 else { throw Self.error(of: conflicts) }
            attempts += 1
            try withoutUndo { try resolve(conflicts.map(\.1), error: Self.error(of: conflicts)) }
            try validate()
            conflicts = try conflictsWithParent()
        }
        tracker.objects.compact()
        let saved = tracker.objects.all
        let changes = ContextChanges(saved, upserted: upsertedProperties)
        let notificationChanges = RequestedName.didSaveObjectIDs.isRequested ? notificationChanges(of: saved) : nil
        parent.processPendingChanges()
        parent.apply(changes)
        parent.processPendingChanges()
        for object in saved { markSavedToParent(object) }
        tracker.objects.removeAll()
        tracker.upserted.removeAll()
        finishMergeReport()
        family.parentEditsSeen = parent.edits
        tracker.countEdit()
        for object in saved { object.didSave() }
        for object in saved where object.state.contains(.deleted) { detachDeleted(object) }
        if let notificationChanges { post(.didSaveObjectIDs, DidSave(changes: notificationChanges), notificationChanges) }
        sweepIfDue()
    }

    /// The conflicts of objects whose values in the parent differ from those before their first change in this context.
    private func conflictsWithParent() throws -> [(ManagedObject, VersionConflict)] {
        var conflicts: [(ManagedObject, VersionConflict)] = []
        for object in tracker.objects.all where !object.isInserted && object.hasChanges || object.state.contains(.watched) {
            let isChecked = !object.state.contains(.gone) || object.state.contains(.watched)
            guard isChecked, let base = object.record?.frozenRow else { continue }
            let row = try parentRow(of: object)
            if let row, row.values == base.values { continue }
            conflicts.append(
                (
                    object,
                    VersionConflict(
                        reference: object.reference, objectID: object.objectID, expectedVersion: base.version,
                        storedVersion: row?.version ?? 0, storedValues: row?.values)
                ))
        }
        return conflicts
    }

    private static func error(of conflicts: [(ManagedObject, VersionConflict)]) -> HornbeamError {
        let details = conflicts.map { object, conflict in
            HornbeamError(
                .mergeConflict,
                "The \(object.scope.entity.name) was \(conflict.storedValues == nil ? "deleted" : "changed") in the parent "
                    + "context since this context read it.",
                entity: object.scope.entity.name, objectIDs: [object.objectID])
        }
        let refused = RefusedConflicts(merges: conflicts.map { object, conflict in object.mergeConflict(conflict) })
        if var error = details.first, details.count == 1 {
            error.message += " " + adviceForConflicts
            error.underlyingError = refused
            return error
        }
        return HornbeamError(
            .mergeConflict,
            "The save was refused: \(details.count) objects were changed or deleted in the parent context since they were "
                + "read. See the details. " + adviceForConflicts,
            objectIDs: conflicts.map(\.0.objectID), details: details, underlyingError: refused)
    }

    private func notificationChanges(of saved: [ManagedObject]) -> ObjectChanges {
        ObjectChanges(
            inserted: Set(saved.filter { $0.isInserted && !$0.isDeleted }.map(\.objectID)),
            updated: Set(saved.filter(\.isUpdated).map(\.objectID)),
            deleted: Set(saved.filter { $0.state.contains(.deleted) }.map(\.objectID)),
            author: transactionAuthor, contextName: name)
    }

    /// Marks the object as equal to the parent's object.
    private func markSavedToParent(_ object: ManagedObject) {
        object.state.remove([.inserted, .updated, .tracked, .touched, .changedSinceWillSave, .watched])
        guard !object.state.contains(.deleted) else { return }
        object.hint = RowHint()
        object.record = nil
        guard let source = parentObject(forKey: object.registryKey) else { return }
        let record = ObjectRecord(propertyCount: object.scope.properties.count)
        record.frozenRow = source.currentRow
        object.record = record
    }
}
