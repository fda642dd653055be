internal import HornbeamModel
internal import HornbeamStore

// Merge on save: others' commits wait in the inbox, and are taken in when this context moves to a newer
// state of the store. What this context changed itself is kept; a property that both sides changed keeps
// its old base, so that the save meets it as a conflict.

extension ManagedObjectContext {
    /// Takes in now what other contexts have saved (NOT-7).
    ///
    /// Fetches, counts and saves do this by themselves. A pinned context stays pinned, to the newest state.
    public func mergeChanges() throws { try move() }

    /// Moves to the newest state of the store unless the context is pinned.
    func advance() throws {
        if !isPinned, isPlainlyNewest { return }
        guard isPinned else {
            try move()
            return
        }
        if !staysBeforeDoubt() { try settleDoubt() }
        _ = try readingSnapshot()
    }

    /// True when somebody may want to know what is taken in.
    private var hearsOfMerges: Bool { AskedName.didMergeChangesObjectIDs.isAsked || hasListeners }

    /// True in a context that has read nothing yet, and so has nothing to take others' saves into: the newest state is found when
    /// something is read.
    var hasReadNothing: Bool {
        snapshot == nil && parent == nil && follows && !isAway && children.isEmpty && !hearsOfMerges
    }

    /// True when a few looks tell that there is nothing to move to: the rule for one that reads much.
    private var isPlainlyNewest: Bool {
        guard parent == nil, doubt == nil, !isAway, inbox.isEmpty, let stateRead else { return false }
        return persistentStoreCoordinator.isNewest(stateRead)
    }

    /// Moves to the newest state of the store and takes in what was announced.
    ///
    /// - Parameter settled: Keys of objects that were just saved, which show their new rows in any case.
    /// - Returns: What observers were told.
    @discardableResult
    func move(toAtLeast transaction: UInt64 = 0, settled: Set<UInt64> = []) throws -> ObjectChanges {
        if staysBeforeDoubt() { return announce(followParent()) }
        try settleDoubt()
        let arrived = inbox.drain()
        do { return try move(toAtLeast: transaction, takingIn: arrived, settled: settled) } catch {
            // What was announced is found by comparing, the next time.
            if !arrived.isEmpty { inbox.overflow() }
            throw error
        }
    }

    private func move(
        toAtLeast transaction: UInt64, takingIn arrived: ChangeInbox.Delivery, settled: Set<UInt64>
    ) throws -> ObjectChanges {
        try parent?.advance()
        let cameFromAway = isAway || parent?.isAway == true
        let old = snapshot
        if let old, arrived.isEmpty, try isNewest(old, transaction) { return announce(followParent()) }
        let new = try newestSnapshot()
        if let old, old.stack !== new.stack { leaveRemovedStores(old, new) }
        if cameFromAway {
            isAway = parent?.isAway ?? false
            return arrive(at: new, rebasing: true)
        }
        let (taken, ignored) = try sorted(arrived, new)
        if let old {
            freezeDeleted(taken, old)
            freezeChanged(ignored, old, except: settled)
        }
        // The views of pending objects stay: those that the changes name are noted anew.
        let views = tracked.views
        snapshot = new
        tracked.views = views
        edits &+= 1
        var merged = takeIn(taken, new)
        let named = trackedObjects(namedBy: taken + ignored)
        rebaseMembers(of: named)
        note(named)
        dropDeletedMembers(taken)
        let merges = merged.changes
        merged.formUnion(followParent())
        if !merges.isEmpty { post(.didMergeChangesObjectIDs, DidMergeChanges(changes: merges), merges) }
        return announce(merged)
    }

    /// Tells observers once of everything that was taken in, when all objects show it.
    @discardableResult
    func announce(_ merged: MergedChanges) -> ObjectChanges {
        if !merged.changes.isEmpty {
            postObjectsDidChange(merged.changes)
        } else if merged.isElsewhere {
            tellListeners(merged.changes)
        }
        return merged.changes
    }

    /// What this context takes in, and what it passes over since it follows neither the store nor whoever saved.
    private func sorted(
        _ arrived: ChangeInbox.Delivery, _ new: StackSnapshot
    ) throws -> (taken: [ForeignChange], ignored: [ForeignChange]) {
        if arrived.isOverflowing {
            let all = try [differences(new)]
            return automaticallyMergesChangesFromParent || !observed.isEmpty ? (all, []) : ([], all)
        }
        if automaticallyMergesChangesFromParent { return (arrived.changes.map(ForeignChange.init), []) }
        var result: (taken: [ForeignChange], ignored: [ForeignChange]) = ([], [])
        for change in arrived.changes {
            if observed.contains(change.originator) {
                result.taken.append(ForeignChange(change))
            } else {
                result.ignored.append(ForeignChange(change))
            }
        }
        return result
    }

    private func isNewest(_ old: StackSnapshot, _ transaction: UInt64) throws -> Bool {
        if let parent { return try parent.readingSnapshot() === old }
        let stack = persistentStoreCoordinator.stack
        guard !isAway, !isPinned || old.isRetained, old.stack === stack else { return false }
        return old.transaction >= max(stack.latestTransaction, transaction)
    }

    /// What became of the objects here, when too much was announced to be kept.
    private func differences(_ new: StackSnapshot) throws -> ForeignChange {
        var change = ForeignChange()
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

    /// A context that does not follow keeps what it has read.
    private func freezeChanged(_ changes: [ForeignChange], _ old: StackSnapshot, except settled: Set<UInt64>) {
        for change in changes {
            for reference in change.updated + change.deleted {
                guard !settled.contains(reference.key), let object = registry[reference.key], !object.isFault
                else { continue }
                object.freezeRow(from: old)
            }
        }
    }

    /// Deleted objects stay readable for those who hold them.
    private func freezeDeleted(_ changes: [ForeignChange], _ old: StackSnapshot) {
        for change in changes {
            for reference in change.deleted where registry.isShared(reference.key) {
                registry[reference.key]?.freezeRow(from: old)
            }
        }
    }

    private func takeIn(_ changes: [ForeignChange], _ new: StackSnapshot) -> MergedChanges {
        var merged = MergedChanges()
        let namesInserted = hearsOfMerges
        for change in changes {
            // A store may be gone again by the time its last commits are heard of.
            for reference in change.inserted where namesInserted && new[reference.slot] != nil {
                merged.changes.inserted.insert(objectID(reference))
            }
            for reference in change.updated {
                guard let object = registry[reference.key] else {
                    merged.isElsewhere = true
                    continue
                }
                if !object.hasChanges, !object.scope.isNested { object.record?.frozenRow = nil }
                rebase(object, new)
                merged.changes.refreshed.insert(object.objectID)
                hub?.noteChange(object)
            }
            for reference in change.deleted {
                guard let object = registry[reference.key] else {
                    merged.isElsewhere = true
                    continue
                }
                merged.changes.deleted.insert(object.objectID)
                takeInDeletion(of: object)
                hub?.noteChange(object)
            }
        }
        return merged
    }

    /// Gives pending changes of an object the new row as their base, unless both sides changed a value.
    func rebase(_ object: ManagedObject, _ new: StackSnapshot, settling: Bool = false) {
        object.hint = RowHint()
        guard let record = object.record, record.version != 0, !object.isInserted, !object.scope.isNested else { return }
        // The save compares a watched object with what it was.
        guard settling || !object.state.contains(.watched) else { return }
        guard let row = noting(object, { try new[object.scope.slot]?.values(object.scope.entity, object.key) }) else { return }
        // Changes that were taken back leave a record behind, whose next change is one of the new row.
        guard object.hasChanges else { return record.version = row.version }
        rebase(object, on: row, settling: settling)
    }

    /// As above, on a row that was read already.
    ///
    /// - Parameter settling: True to keep what both sides changed as it is here, and to report it.
    func rebase(_ object: ManagedObject, on row: RowValues, settling: Bool = false) {
        guard let record = object.record, settling || !object.state.contains(.watched) else { return }
        guard !object.state.contains(.deleted) else {
            // A deletion of what others changed is for the save's policy to judge.
            guard settling else { return }
            record.version = row.version
            if object.scope.isNested { record.frozenRow = row }
            return
        }
        mergeReport.properties += object.applyMergeRules(row.values, includingRelationships: false)
        if settling {
            mergeReport.properties += object.conflicts(with: row.values).map {
                .init(conflict: $0, result: $0.mine, decision: .policy(.mergeByPropertyObjectTrump))
            }
        } else {
            guard object.mergesCleanly(with: row.values) else { return }
        }
        if record.version != row.version { mergeReport.rebased.insert(object.objectID) }
        object.adopt(row.values, version: row.version)
        settleUpdatedState(of: object)
    }

    /// Another context deleted the object: with changes of our own it is a conflict for the save.
    func takeInDeletion(of object: ManagedObject) {
        object.state.remove(.fault)
        if object.state.contains(.deleted) {
            object.state.insert(.gone)
        } else if object.hasChanges, object.record?.changed.contains(where: { !object.scope.properties[$0].isToMany }) == true {
            object.state.insert(.stirred)
        } else {
            object.state.insert(.gone)
            object.state.remove(.updated)
        }
    }

    /// The changed objects of this context that others' changes may concern; all where a change does not name each of them.
    private func trackedObjects(namedBy changes: [ForeignChange]) -> [ManagedObject] {
        if tracked.isEmpty || changes.isEmpty { return [] }
        guard changes.allSatisfy(\.namesOwners) else { return tracked.all }
        var named: [ManagedObject] = []
        var keys: Set<UInt64> = []
        for reference in changes.lazy.flatMap({ $0.updated + $0.deleted }) where keys.insert(reference.key).inserted {
            guard let object = registry[reference.key], object.state.contains(.tracked) else { continue }
            named.append(object)
        }
        return named
    }

    /// Enters what objects show now into the views of pending objects.
    private func note(_ objects: [ManagedObject]) {
        // A copy: to look at a value may call a hook that changes other objects.
        let views = tracked.views
        for object in objects { views.note(object) }
    }

    /// An object that was added to a relationship here, and that others deleted, is no member any more: the delete rule of the
    /// relationship of which others knew nothing is nullify.
    private func dropDeletedMembers(_ changes: [ForeignChange]) {
        var deleted: Set<ManagedObjectID> = []
        for reference in changes.lazy.flatMap(\.deleted) where registry[reference.key]?.state.contains(.gone) ?? true {
            deleted.insert(objectID(reference))
        }
        guard !deleted.isEmpty else { return }
        for object in tracked.all {
            guard let record = object.record, !record.toMany.isEmpty else { continue }
            for (index, change) in record.toMany where !deleted.isDisjoint(with: change.added.keys) {
                var change = change
                for id in deleted.intersection(change.added.keys) { change.remove(id, isStored: false) }
                let isAsStored = change.added.isEmpty && change.removed.isEmpty && !object.isInserted
                if isAsStored, change.order == object.storedMembers(of: object.scope.properties[index]) { change.order = nil }
                let isOver = change.isEmpty && !object.isInserted
                record.toMany[index] = isOver ? nil : change
                if isOver { record.removeChange(of: index) }
            }
            settleUpdatedState(of: object)
        }
    }

    /// Members added or removed here may have been by others too.
    func rebaseMembers() { rebaseMembers(of: tracked.all) }

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

/// What a context took in, for its observers.
struct MergedChanges {
    var changes = ObjectChanges()
    /// True when objects changed that the context does not hold, which may be results of fetches from now on.
    var isElsewhere = false

    mutating func formUnion(_ other: MergedChanges) {
        changes.inserted.formUnion(other.changes.inserted)
        changes.refreshed.formUnion(other.changes.refreshed)
        changes.deleted.formUnion(other.changes.deleted)
        isElsewhere = isElsewhere || other.isElsewhere
    }
}

/// What others did, as far as this context cares.
private struct ForeignChange {
    var inserted: [ObjectReference] = []
    var updated: [ObjectReference] = []
    var deleted: [ObjectReference] = []
    /// True when the owners of relationships with other members are among the updated objects.
    var namesOwners = true

    init() {}

    init(_ change: StoreChange) {
        namesOwners = change.kind == .save
        inserted = change.inserted
        updated = change.updated.map(\.reference)
        deleted = change.deleted
    }
}

extension ManagedObject {
    /// True when no property was changed on both sides since this one read it.
    ///
    /// Two equal changes of a relationship agree. Two equal changes of an attribute do not: two increments of
    /// a counter look just like that.
    final func mergesCleanly(with stored: [PropertyValue]) -> Bool {
        guard let record else { return true }
        return record.originals.allSatisfy { index, original in
            stored[index] == original || scope.properties[index].isDerived
                || (scope.properties[index].isRelationship && stored[index] == record.values[index])
        }
    }

    /// Takes a stored row as the base of the pending changes.
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
