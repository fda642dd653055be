internal import HornbeamModel
internal import HornbeamStore

// Rebasing: newer rows of the store become the originals of pending changes.

extension ManagedObjectContext {
    /// Makes the new row the original of an object's pending changes, unless both sides changed the same property.
    func rebase(_ object: ManagedObject, _ new: StackSnapshot, resolving: Bool = false) {
        object.hint = RowHint()
        guard let record = object.record, record.version != 0, !object.isInserted, !object.scope.isNested else { return }
        // The save compares a watched object with its values at the call of `detectConflicts`.
        guard resolving || !object.state.contains(.watched) else { return }
        guard let row = recordingFailure(object, { try new[object.scope.slot]?.values(object.scope.entity, object.key) }) else { return }
        // The record of an undone change may remain without changes. Its next change starts from the new row.
        guard object.hasChanges else { return record.version = row.version }
        rebase(object, on: row, resolving: resolving)
    }

    /// Makes a row that was already read the original of an object's pending changes, unless both sides changed the same property.
    ///
    /// - Parameter resolving: If true, conflicts are resolved: this context's value wins for a property that both sides changed, and the report contains it.
    func rebase(_ object: ManagedObject, on row: RowValues, resolving: Bool = false) {
        guard let record = object.record, resolving || !object.state.contains(.watched) else { return }
        guard !object.state.contains(.deleted) else {
            // At a save, the merge policy resolves the conflict between a deletion here and a change by another save.
            guard resolving else { return }
            record.version = row.version
            if object.scope.isNested { record.frozenRow = row }
            return
        }
        merging.report.properties += object.applyMergeRules(row.values, includingRelationships: false)
        if resolving {
            merging.report.properties += object.conflicts(with: row.values).map {
                .init(conflict: $0, result: $0.mine, decision: .policy(.mergeByPropertyObjectTrump))
            }
        } else {
            guard object.mergesCleanly(with: row.values) else { return }
        }
        if record.version != row.version { merging.report.rebased.insert(object.objectID) }
        object.rebase(onto: row.values, version: row.version)
        clearUpdatedIfUnchanged(of: object)
    }

    /// Merges the deletion of an object by another save. If the object has pending changes here, the save has a conflict.
    func mergeDeletion(of object: ManagedObject) {
        object.state.remove(.fault)
        if object.state.contains(.deleted) {
            object.state.insert(.gone)
        } else if object.hasChanges, object.record?.changed.contains(where: { !object.scope.properties[$0].isToMany }) == true {
            object.state.insert(.changedSinceWillSave)
        } else {
            object.state.insert(.gone)
            object.state.remove(.updated)
        }
    }
}

extension ManagedObject {
    /// True if no property was changed on both sides.
    ///
    /// Equal changes of a relationship are compatible. Equal changes of an attribute are a conflict: two increments of a
    /// counter have equal results, and one would be lost.
    final func mergesCleanly(with stored: [PropertyValue]) -> Bool {
        guard let record else { return true }
        return record.originals.allSatisfy { index, original in
            stored[index] == original || scope.properties[index].isDerived
                || (scope.properties[index].isRelationship && stored[index] == record.values[index])
        }
    }

    /// Makes a stored row the original of the pending changes.
    final func rebase(onto stored: [PropertyValue], version: UInt32) {
        guard let record else { return }
        record.version = version
        record.frozenRow = scope.isNested ? RowValues(version: version, values: stored) : nil
        hint = RowHint()
        for index in Array(record.originals.keys) {
            record.originals[index] = stored[index]
            guard stored[index] == record.values[index] else { continue }
            record.originals[index] = nil
            record.removeChange(of: index)
            record.release(index)
        }
    }
}
