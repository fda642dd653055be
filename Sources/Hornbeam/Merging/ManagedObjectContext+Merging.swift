internal import HornbeamModel
internal import HornbeamStore

// Merges of remote changes. Commits of others wait in the change queue. When this context switches to a newer snapshot, it merges them and
// keeps its own changes. A property that both sides changed keeps its old original
// value, so the save detects a conflict.

extension ManagedObjectContext {
    /// Merges remote changes now (NOT-7).
    ///
    /// Fetches, counts and saves merge automatically. A pinned context switches to the newest snapshot and stays pinned to it.
    public func mergeChanges() throws { try move() }

    /// Switches to the newest snapshot of the stores unless the context is pinned.
    func advance() throws {
        if !reading.isPinned, isKnownNewest { return }
        guard reading.isPinned else {
            try move()
            return
        }
        if !mustReadBeforeInDoubtSave() { try resolveInDoubtSave() }
        _ = try readingSnapshot()
    }

    /// True if an observer may need the merged changes.
    private var observesMerges: Bool { RequestedName.didMergeChangesObjectIDs.isRequested || hasListeners }

    /// True if the context has read nothing yet, so there is nothing to merge: the first read uses the newest
    /// snapshot.
    var hasReadNothing: Bool {
        snapshot == nil && parent == nil && mergesAutomatically && !reading.needsFullMerge && family.children.isEmpty && !observesMerges
    }

    /// True if simple checks show that the context is at the newest snapshot. This is the common case in a program that reads much.
    var isKnownNewest: Bool {
        guard parent == nil, saving.doubt == nil, !reading.needsFullMerge, merging.changeQueue.isEmpty, let identity = reading.identity else { return false }
        return persistentStoreCoordinator.isNewest(identity)
    }

    /// Switches to the newest snapshot of the stores and merges the published commits.
    ///
    /// - Parameter settled: Keys of objects that this context has just saved. They always read from their new rows.
    /// - Returns: The changes that observers received.
    @discardableResult
    func move(toAtLeast transaction: UInt64 = 0, settled: Set<UInt64> = []) throws -> ObjectChanges {
        if mustReadBeforeInDoubtSave() { return notifyOfMerge(mergeParentChanges()) }
        try resolveInDoubtSave()
        let arrived = merging.changeQueue.drain()
        do { return try move(toAtLeast: transaction, mergingCommits: arrived, settled: settled) } catch {
            // The next merge compares all objects, and so includes the commits that were not merged now.
            if !arrived.isEmpty { merging.changeQueue.overflow() }
            throw error
        }
    }

    private func move(
        toAtLeast transaction: UInt64, mergingCommits arrived: ChangeQueue.Delivery, settled: Set<UInt64>
    ) throws -> ObjectChanges {
        try parent?.advance()
        let neededFullMerge = reading.needsFullMerge || parent?.reading.needsFullMerge == true
        let old = snapshot
        if let old, arrived.isEmpty, try isNewest(old, transaction) { return notifyOfMerge(mergeParentChanges()) }
        let new = try newestSnapshot()
        var invalidated: Set<ManagedObjectID> = []
        if let old, old.stack !== new.stack { invalidated = detachObjectsOfRemovedStores(old, new) }
        // Observers fetch from the new snapshot, which has no rows of removed stores.
        defer { if !invalidated.isEmpty { postObjectsDidChange(ObjectChanges(invalidated: invalidated)) } }
        if neededFullMerge {
            reading.needsFullMerge = parent?.reading.needsFullMerge ?? false
            return switchComparingObjects(at: new, rebasing: true)
        }
        let (taken, ignored) = try sorted(arrived, new)
        if let old {
            freezeDeleted(taken, old)
            freezeChanged(ignored, old, except: settled)
        }
        // The views remain valid: the objects in the changes are entered again.
        let views = tracker.objects.views
        snapshot = new
        tracker.objects.views = views
        tracker.noteEdit()
        var merged = taken.isEmpty ? MergedChanges() : mergeRemoteChanges(taken, new)
        let named = trackedObjects(namedBy: taken + ignored)
        rebaseMembers(of: named)
        let owners = dropMembers(deletedBy: taken)
        if arrived.isOverflowing { dropMissingMembers(new, &merged.changes) }
        merged.changes.refreshed.formUnion(owners.lazy.map(\.objectID))
        note(named + owners)
        let isListed = ignored.isEmpty && taken.allSatisfy(\.includesOwners)
        if arrived.isOverflowing ? !taken.isEmpty : !isListed && !merged.changes.isEmpty { merged.unlistedEntities = nil }
        let merges = merged.changes
        if parent != nil { merged.formUnion(mergeParentChanges()) }
        if !merges.isEmpty { post(.didMergeChangesObjectIDs, DidMergeChanges(changes: merges), merges) }
        return notifyOfMerge(merged)
    }

    /// Notifies observers once of all merged changes, after all objects were updated.
    @discardableResult
    func notifyOfMerge(_ merged: MergedChanges) -> ObjectChanges {
        if !merged.changes.isEmpty {
            postObjectsDidChange(merged.changes, unlisted: merged.unlistedEntities)
        } else if merged.unlistedEntities != [] {
            notifyListeners(merged.changes, unlisted: merged.unlistedEntities)
        }
        return merged.changes
    }

    /// The changes that this context merges, and those that it ignores because it neither merges automatically nor observes the context that
    /// made them.
    private func sorted(
        _ arrived: ChangeQueue.Delivery, _ new: StackSnapshot
    ) throws -> (taken: [RemoteChange], ignored: [RemoteChange]) {
        if arrived.isOverflowing {
            let all = try [differences(new)]
            return automaticallyMergesChangesFromParent || !merging.observed.isEmpty ? (all, []) : ([], all)
        }
        if automaticallyMergesChangesFromParent { return (arrived.changes.map(RemoteChange.init), []) }
        var result: (taken: [RemoteChange], ignored: [RemoteChange]) = ([], [])
        for change in arrived.changes {
            if merging.observed.contains(change.originator) {
                result.taken.append(RemoteChange(change))
            } else {
                result.ignored.append(RemoteChange(change))
            }
        }
        return result
    }

    private func isNewest(_ old: StackSnapshot, _ transaction: UInt64) throws -> Bool {
        if let parent { return try parent.readingSnapshot() === old }
        let stack = persistentStoreCoordinator.stack
        guard !reading.needsFullMerge, !reading.isPinned || old.isPinned, old.stack === stack else { return false }
        return old.transaction >= max(stack.latestTransaction, transaction)
    }

    /// The differences between this context's objects and the stores, if the change queue is incomplete.
    private func differences(_ new: StackSnapshot) throws -> RemoteChange {
        var change = RemoteChange()
        let objects = retainsRegisteredObjects ? registry.objects : registry.heldObjectsFaultingOthers()
        for object in objects where !object.isInserted {
            if try new[object.scope.slot]?.exists(object.scope.entity, object.key) ?? false {
                change.updated.append(object.reference)
            } else {
                change.deleted.append(object.reference)
            }
        }
        return change
    }

    /// Copies the old rows of changed objects into the objects, for a context that does not merge these changes.
    private func freezeChanged(_ changes: [RemoteChange], _ old: StackSnapshot, except settled: Set<UInt64>) {
        for change in changes {
            for reference in change.updated + change.deleted {
                guard !settled.contains(reference.key), let object = registry[reference.key], !object.isFault
                else { continue }
                object.freezeRow(from: old)
            }
        }
    }

    /// Copies the old rows of deleted objects that are in use into the objects.
    private func freezeDeleted(_ changes: [RemoteChange], _ old: StackSnapshot) {
        for change in changes {
            for reference in change.deleted where registry.isShared(reference.key) {
                registry[reference.key]?.freezeRow(from: old)
            }
        }
    }

    private func mergeRemoteChanges(_ changes: [RemoteChange], _ new: StackSnapshot) -> MergedChanges {
        var merged = MergedChanges()
        let namesInserted = observesMerges
        for change in changes {
            // A store can be removed before its last commits are merged.
            for reference in change.inserted where namesInserted && new[reference.slot] != nil {
                merged.changes.inserted.insert(objectID(reference))
            }
            for reference in change.updated {
                guard let object = registry[reference.key] else {
                    merged.unlistedEntities?.insert(reference.entityIndex)
                    continue
                }
                if !object.hasChanges, !object.scope.isNested { object.record?.frozenRow = nil }
                rebase(object, new)
                merged.changes.refreshed.insert(object.objectID)
                observers.hub?.noteChange(object)
            }
            for reference in change.deleted {
                guard let object = registry[reference.key] else {
                    merged.unlistedEntities?.insert(reference.entityIndex)
                    continue
                }
                merged.changes.deleted.insert(object.objectID)
                mergeDeletion(of: object)
                observers.hub?.noteChange(object)
            }
        }
        return merged
    }

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
        object.adopt(row.values, version: row.version)
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

    /// The changed objects of this context that remote changes may affect. All changed objects, if a remote change does not name all owners.
    private func trackedObjects(namedBy changes: [RemoteChange]) -> [ManagedObject] {
        if tracker.objects.isEmpty || changes.isEmpty { return [] }
        guard changes.allSatisfy(\.includesOwners) else { return tracker.objects.all }
        var named: [ManagedObject] = []
        var keys: Set<UInt64> = []
        for reference in changes.lazy.flatMap({ $0.updated + $0.deleted }) where keys.insert(reference.key).inserted {
            guard let object = registry[reference.key], object.state.contains(.tracked) else { continue }
            named.append(object)
        }
        return named
    }

    /// Enters the current values of objects into the views of pending objects.
    private func note(_ objects: [ManagedObject]) {
        // A copy: reading a value may call a hook that changes other objects.
        let views = tracker.objects.views
        for object in objects { views.note(object) }
    }

    /// Removes deleted objects from the relationships to which this context had added them, like the delete rule nullify.
    ///
    /// - Returns: The objects that lost members.
    private func dropMembers(deletedBy changes: [RemoteChange]) -> [ManagedObject] {
        var deleted: Set<ManagedObjectID> = []
        for reference in changes.lazy.flatMap(\.deleted) where registry[reference.key]?.state.contains(.gone) ?? true {
            deleted.insert(objectID(reference))
        }
        return deleted.isEmpty ? [] : dropAdded(deleted)
    }

    /// Drops added members that do not exist in a snapshot. For a switch without a list of the changes, so it looks up each added member.
    func dropMissingMembers(_ new: StackSnapshot, _ changes: inout ObjectChanges) {
        // In a custom store, a row that was not loaded yet is not missing.
        if stack.isIncremental { return }
        var missing: Set<ManagedObjectID> = []
        for id in Set(tracker.objects.all.lazy.flatMap { $0.record?.toMany.values.flatMap(\.added.keys) ?? [] }) where !id.isTemporaryID {
            guard let reference = reference(id), let part = new[reference.slot] else { continue }
            let entity = persistentStoreCoordinator.managedObjectModel.entities[Int(reference.entityIndex)]
            // An error is ignored here: the first read of the object reports it.
            if (try? part.exists(entity, reference.local.key)) == false { missing.insert(id) }
        }
        if !missing.isEmpty { changes.refreshed.formUnion(dropAdded(missing).lazy.map(\.objectID)) }
    }

    private func dropAdded(_ deleted: Set<ManagedObjectID>) -> [ManagedObject] {
        var owners: [ManagedObject] = []
        for object in tracker.objects.all {
            guard let record = object.record, !record.toMany.isEmpty else { continue }
            for (index, change) in record.toMany where !deleted.isDisjoint(with: change.added.keys) {
                if owners.last !== object { owners.append(object) }
                var change = change
                for id in deleted.intersection(change.added.keys) { change.remove(id, isStored: false) }
                let isAsStored = change.added.isEmpty && change.removed.isEmpty && !object.isInserted
                if isAsStored, change.order == object.storedMembers(of: object.scope.properties[index]) { change.order = nil }
                let isOver = change.isEmpty && !object.isInserted
                record.toMany[index] = isOver ? nil : change
                if isOver { record.removeChange(of: index) }
                observers.hub?.noteChange(object, index)
            }
            clearUpdatedIfUnchanged(of: object)
        }
        return owners
    }

    /// Adapts pending changes of members: other saves may have added or removed the same members.
    func rebaseMembers() { rebaseMembers(of: tracker.objects.all) }

    private func rebaseMembers(of objects: [ManagedObject]) {
        for object in objects {
            guard let record = object.record, !record.toMany.isEmpty, !object.isInserted else { continue }
            for property in object.scope.properties where property.isToMany {
                guard var change = record.toMany.removeValue(forKey: property.index) else { continue }
                change.rebase { object.isStoredMember($0, of: property) } stored: { object.storedMembers(of: property) }
                record.toMany[property.index] = change
            }
        }
    }
}

/// Remote changes, in the form in which a context merges them.
private struct RemoteChange {
    var inserted: [ObjectReference] = []
    var updated: [ObjectReference] = []
    var deleted: [ObjectReference] = []
    /// True if the updated objects include the owners of all relationships whose members changed.
    var includesOwners = true

    init() {}

    init(_ change: StoreChange) {
        includesOwners = change.kind == .save
        inserted = change.inserted
        updated = change.updated.map(\.reference)
        deleted = change.deleted
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
    final func adopt(_ stored: [PropertyValue], version: UInt32) {
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
