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
    /// - Parameter saved: Keys of objects that this context has just saved. They always read from their new rows.
    /// - Returns: The changes that observers received.
    @discardableResult
    func move(toAtLeast transaction: UInt64 = 0, saved: Set<UInt64> = []) throws -> ObjectChanges {
        if mustReadBeforeInDoubtSave() { return notifyOfMerge(mergeParentChanges()) }
        try resolveInDoubtSave()
        let arrived = merging.changeQueue.drain()
        do { return try move(toAtLeast: transaction, mergingCommits: arrived, saved: saved) } catch {
            // The next merge compares all objects, and so includes the commits that were not merged now.
            if !arrived.isEmpty { merging.changeQueue.overflow() }
            throw error
        }
    }

    private func move(
        toAtLeast transaction: UInt64, mergingCommits arrived: ChangeQueue.Delivery, saved: Set<UInt64>
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
            freezeChanged(ignored, old, except: saved)
        }
        // The views remain valid: the objects in the changes are entered again.
        let views = tracker.objects.views
        snapshot = new
        tracker.objects.views = views
        tracker.countEdit()
        // Usual after a save of this context.
        if taken.isEmpty, ignored.isEmpty, !arrived.isOverflowing, parent == nil { return ObjectChanges() }
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
    private func freezeChanged(_ changes: [RemoteChange], _ old: StackSnapshot, except saved: Set<UInt64>) {
        for change in changes {
            for reference in change.updated + change.deleted {
                guard !saved.contains(reference.key), let object = registry[reference.key], !object.isFault
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
                observers.hub?.notifyOfChange(object)
            }
            for reference in change.deleted {
                guard let object = registry[reference.key] else {
                    merged.unlistedEntities?.insert(reference.entityIndex)
                    continue
                }
                merged.changes.deleted.insert(object.objectID)
                mergeDeletion(of: object)
                observers.hub?.notifyOfChange(object)
            }
        }
        return merged
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
}

/// Remote changes, in the form in which a context merges them.
struct RemoteChange {
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
