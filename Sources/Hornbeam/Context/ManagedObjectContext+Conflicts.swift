internal import HornbeamModel
internal import HornbeamStore

// Conflicts at save: three-way merges where both sides agree to differ, the merge policy where they do not.

extension ManagedObjectContext {
    /// Changes what is pending so that the save can be tried again.
    ///
    /// - Throws: The conflicts, when the policy is `error` or cannot settle them.
    func resolve(_ conflicts: SaveConflicts, _ draft: SaveDraft) throws {
        try resolve(conflicts.versions, error: error(of: conflicts, draft))
        for conflict in conflicts.uniques {
            if mergePolicy == .error { throw error(of: conflicts, draft) }
            guard try settle(conflict, draft) else { throw error(of: conflicts, draft) }
        }
    }

    /// Settles conflicts of versions, or throws the error.
    func resolve(_ conflicts: [VersionConflict], error: @autoclosure () -> HornbeamError) throws {
        for conflict in conflicts {
            guard let object = registry[conflict.reference.key] else { continue }
            if automaticallyMergesChangesFromParent, mergesCleanly(object, conflict) {
                adopt(conflict, in: object)
            } else {
                if mergePolicy == .error { throw error() }
                try settle(object, conflict)
            }
        }
    }

    /// The error, with the IDs that the objects have in this context.
    private func error(of conflicts: SaveConflicts, _ draft: SaveDraft) -> HornbeamError {
        var error = conflicts.error
        error.objectIDs = error.objectIDs.map { draft.object(withKey: $0.reference)?.objectID ?? $0 }
        return error
    }

    // MARK: Versions

    /// True when no property was changed on both sides to different values.
    private func mergesCleanly(_ object: ManagedObject, _ conflict: VersionConflict) -> Bool {
        guard let stored = conflict.storedValues, !object.state.contains(.deleted), !object.state.contains(.watched)
        else { return false }
        return object.mergesCleanly(with: stored)
    }

    /// Takes the stored row as the base of the pending changes.
    private func adopt(_ conflict: VersionConflict, in object: ManagedObject) {
        guard let stored = conflict.storedValues else { return }
        object.adopt(stored, version: conflict.storedVersion)
        settleUpdatedState(of: object)
    }

    private func settle(_ object: ManagedObject, _ conflict: VersionConflict) throws {
        guard conflict.storedValues != nil else { return try settleDeletedElsewhere(object) }
        switch mergePolicy.kind {
        case .error: break
        case .mergeByPropertyStoreTrump:
            object.state.remove(.deleted)
            yield(object, conflict)
            adopt(conflict, in: object)
        case .mergeByPropertyObjectTrump:
            adopt(conflict, in: object)
        case .overwrite:
            holdAllValues(of: object)
            adopt(conflict, in: object)
        case .rollback:
            dropChanges(of: object)
        }
    }

    /// Gives up the values that the other side changed too.
    private func yield(_ object: ManagedObject, _ conflict: VersionConflict) {
        guard let record = object.record, let stored = conflict.storedValues else { return }
        for (index, original) in record.originals where stored[index] != original {
            record.changed.remove(index)
            record.originals[index] = nil
            record.release(index)
        }
        settleUpdatedState(of: object)
    }

    /// Makes every value of the object one to be written.
    private func holdAllValues(of object: ManagedObject) {
        guard let record = object.record, !object.state.contains(.deleted) else { return }
        for property in object.scope.properties where !property.isToMany && !property.isTransient {
            record.hold(object.currentValue(of: property), at: property.index)
            record.changed.insert(property.index)
        }
    }

    /// The row is gone: the object follows it, or is written again (MRG-10).
    private func settleDeletedElsewhere(_ object: ManagedObject) throws {
        if object.state.contains(.deleted) {
            object.state.insert(.gone)
            return
        }
        switch mergePolicy.kind {
        case .mergeByPropertyObjectTrump, .overwrite:
            if let snapshot { object.freezeRow(from: snapshot) }
            holdAllValues(of: object)
            object.record?.frozenRow = nil
            object.state.insert(.inserted)
        case .error, .mergeByPropertyStoreTrump, .rollback:
            dropChanges(of: object)
            object.markGone()
        }
    }

    private func dropChanges(of object: ManagedObject) {
        object.state.remove([.updated, .deleted, .watched, .stirred])
        object.record = nil
        object.hint = RowHint()
        if object.scope.isNested { object.state.insert(.fault) }
    }

    // MARK: Unique values

    /// Settles who keeps a value that must be unique (MRG-8, MRG-9); false when the policy cannot.
    ///
    /// Under both trump-by-object policies a new object takes the place of the stored one: it gets that
    /// object's ID and its own values. Under the others it gives way and becomes the stored one. Among new
    /// objects of one save the first survives; under the object's policies it takes the values of the later.
    private func settle(_ conflict: UniqueConflict, _ draft: SaveDraft) throws -> Bool {
        let rivals = conflict.objects.compactMap { draft.object(withKey: $0.key) }
        let newcomers = rivals.filter(\.isInserted)
        let objectWins = mergePolicy == .mergeByPropertyObjectTrump || mergePolicy == .overwrite
        if let existing = conflict.existing {
            guard newcomers.count == rivals.count, !rivals.isEmpty else { return false }
            for newcomer in newcomers { merge(newcomer, into: existing, conflict, objectWins) }
            return true
        }
        guard let survivor = rivals.first(where: { !$0.isInserted }) ?? rivals.first else { return false }
        let losers = rivals.filter { $0 !== survivor }
        guard !losers.isEmpty, losers.allSatisfy(\.isInserted) else { return false }
        for loser in losers { fold(loser, into: survivor, takesValues: objectWins) }
        return true
    }

    private func merge(
        _ newcomer: ManagedObject, into existing: ObjectReference, _ conflict: UniqueConflict,
        _ objectWins: Bool
    ) {
        if let registered = registry[existing.key] {
            return fold(newcomer, into: registered, takesValues: objectWins)
        }
        let old = newcomer.objectID
        rekey(newcomer, to: existing.key)
        replaceReferences([old: newcomer.objectID])
        newcomer.state.remove(.inserted)
        guard objectWins, let record = newcomer.record, let stored = conflict.existingValues else {
            dropChanges(of: newcomer)
            newcomer.state.insert(.fault)
            return
        }
        newcomer.state.insert(.updated)
        record.version = conflict.existingVersion
        for index in record.held.indexes where !newcomer.scope.properties[index].isTransient {
            record.changed.insert(index)
            record.originals[index] = stored[index]
        }
    }

    /// Lets one object stand for another that will not be saved.
    private func fold(_ loser: ManagedObject, into survivor: ManagedObject, takesValues: Bool) {
        for property in loser.scope.properties {
            if property.isToMany {
                for id in loser.members(of: property) {
                    let member = object(with: id)
                    loser.remove(member, from: property)
                    if takesValues { survivor.add(member, to: property) }
                }
            } else if property.isRelationship {
                let target = loser.destination(of: property)
                loser.setDestination(nil, of: property)
                if takesValues { survivor.setDestination(target, of: property) }
            } else if takesValues {
                survivor.assign(loser.currentValue(of: property), to: property)
            }
        }
        replaceReferences([loser.objectID: survivor.objectID])
        forget(loser)
    }
}
