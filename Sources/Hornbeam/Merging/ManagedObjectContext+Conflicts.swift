internal import HornbeamModel
internal import HornbeamStore

// Conflicts at a save. The merge rules of the model are applied first, then three-way merges of objects whose properties only one side changed,
// then the merge policy.

extension ManagedObjectContext {
    /// Resolves conflicts by changing the pending changes, so that the save can be tried again.
    ///
    /// - Throws: The conflicts, if the policy is `error` or cannot resolve them.
    func resolve(_ conflicts: SaveConflicts, _ draft: ChangeSetBuilder) throws {
        tracker.objects.views.forget()
        defer { tracker.objects.views.forget() }
        try resolve(conflicts.versions, error: error(of: conflicts, draft))
        // Each object is resolved once per attempt, because its conflicts were found in its state before that. The next attempt detects the other conflicts.
        var resolved = Set(conflicts.versions.map(\.reference.key))
        for conflict in conflicts.uniques {
            let keys = conflict.objects.map(\.key) + (conflict.existing.map { [$0.key] } ?? [])
            guard resolved.isDisjoint(with: keys) else { continue }
            guard try resolve(conflict, draft) else { throw error(of: conflicts, draft) }
            resolved.formUnion(keys)
        }
    }

    /// Resolves version conflicts, or throws the error.
    func resolve(_ conflicts: [VersionConflict], error: @autoclosure () -> HornbeamError) throws {
        for conflict in conflicts {
            // An object that is not registered in this context cannot be resolved.
            guard let object = registry[conflict.reference.key] else { throw error() }
            if resolvesByMergeRules(object, conflict) {
                rebase(object, on: conflict)
                merging.report.rebased.insert(object.objectID)
                continue
            }
            try consultResolver(object, conflict)
            if mergePolicy.kind == .error {
                guard mergePolicy.resolver != nil, isResolved(object, conflict) else { throw error() }
                rebase(object, on: conflict)
            } else {
                applyPolicy(to: object, conflict)
            }
            object.awake(fromSnapshotEvents: .mergePolicy)
        }
    }

    /// The error for the conflicts, with the objects' IDs in this context.
    private func error(of conflicts: SaveConflicts, _ draft: ChangeSetBuilder) -> HornbeamError {
        var error = conflicts.error { draft.object($0)?.objectID ?? $0 }
        let refused = RefusedConflicts(
            merges: conflicts.versions.compactMap { conflict in registry[conflict.reference.key]?.mergeConflict(conflict) },
            constraints: conflicts.uniques.map { constraintConflict($0, $0.objects.compactMap { draft.object(withKey: $0.key) }) })
        error.underlyingError = refused
        let isNew = conflicts.uniques.contains { conflict in
            let rivals = conflict.objects.compactMap { draft.object(withKey: $0.key) }
            return !rivals.isEmpty && rivals.allSatisfy(\.objectID.isTemporaryID) && canBecomeOne(rivals, conflict)
        }
        if !refused.merges.isEmpty {
            error.message += " " + Self.adviceForConflicts
        } else if isNew {
            error.message += " A mergePolicy can merge a new object into the object with the value."
        }
        return error
    }

    /// The advice for conflicts of objects that both sides changed.
    static let adviceForConflicts = "Set a mergePolicy, or refresh the objects: with mergeChanges true, the next save writes the changes of this context "
        + "over the other ones; with false, they are discarded."

    /// True if both sides have equal values for every property that both changed.
    private func isResolved(_ object: ManagedObject, _ conflict: VersionConflict) -> Bool {
        guard let stored = conflict.storedValues, !object.state.contains(.deleted), !object.state.contains(.watched)
        else { return false }
        return object.mergesCleanly(with: stored)
    }

    /// Applies the merge rules of the model. Returns true if no conflict remains.
    private func resolvesByMergeRules(_ object: ManagedObject, _ conflict: VersionConflict) -> Bool {
        guard let stored = conflict.storedValues, !object.state.contains(.deleted), !object.state.contains(.watched)
        else { return false }
        let merged = object.applyMergeRules(stored, includingRelationships: true)
        merging.report.properties += merged
        guard mergesAutomatically || !merged.isEmpty else { return false }
        return object.mergesCleanly(with: stored)
    }

    /// Makes the stored row the original of the pending changes.
    private func rebase(_ object: ManagedObject, on conflict: VersionConflict) {
        guard let stored = conflict.storedValues else { return }
        object.rebase(onto: stored, version: conflict.storedVersion)
        clearUpdatedIfUnchanged(of: object)
    }

    // MARK: The policy

    /// Calls a custom policy and applies the values that it returns.
    private func consultResolver(_ object: ManagedObject, _ conflict: VersionConflict) throws {
        guard let resolver = mergePolicy.resolver else { return }
        let values = try resolver.resolve(object.mergeConflict(conflict))
        guard let stored = conflict.storedValues, !object.state.contains(.deleted) else { return }
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            let property = try object.entity.property(named: key)
            guard !property.isToMany, !property.isTransient else { continue }
            let result = property.isAttribute ? try property.coerced(value) : value
            if let conflict = object.conflict(at: property.index, stored) {
                merging.report.properties.append(.init(conflict: conflict, result: result, decision: .policy(mergePolicy)))
            }
            _ = object.writableRecord()
            object.setMergedValue(result, of: property, over: stored[property.index])
        }
    }

    /// Applies the merge policy to an object that both sides changed.
    private func applyPolicy(to object: ManagedObject, _ conflict: VersionConflict) {
        guard let stored = conflict.storedValues else { return resolveDeletionElsewhere(of: object) }
        let isDeleted = object.state.contains(.deleted)
        switch mergePolicy.kind {
        case .error: break
        case .mergeByPropertyStoreTrump:
            report(object, isDeleted ? .kept : nil)
            object.state.remove(.deleted)
            yield(object, stored)
            rebase(object, on: conflict)
        case .mergeByPropertyObjectTrump:
            report(object, isDeleted ? .deletedDespiteChanges : nil)
            report(object, stored) { $0.mine }
            rebase(object, on: conflict)
        case .overwrite:
            report(object, isDeleted ? .deletedDespiteChanges : nil)
            holdAllValues(of: object)
            report(object, stored) { $0.mine }
            rebase(object, on: conflict)
        case .rollback:
            report(object, isDeleted ? .kept : nil)
            reportAllChanges(of: object, stored)
            dropChanges(of: object)
        }
    }

    /// Discards this context's values of properties that the other side changed too.
    private func yield(_ object: ManagedObject, _ stored: [PropertyValue]) {
        report(object, stored) { $0.theirs }
        guard let record = object.record else { return }
        for (index, original) in record.originals where stored[index] != original {
            record.removeChange(of: index)
            record.originals[index] = nil
            record.release(index)
        }
        clearUpdatedIfUnchanged(of: object)
    }

    /// Makes the save write every value of the object.
    private func holdAllValues(of object: ManagedObject) {
        guard let record = object.record, !object.state.contains(.deleted) else { return }
        for property in object.scope.properties where !property.isToMany && !property.isTransient {
            let value = object.currentValue(of: property)
            if record.originals[property.index] == nil { record.originals[property.index] = value }
            record.hold(value, at: property.index)
            record.changed.insert(property.index)
        }
    }

    /// Resolves the deletion of the row by another save: the object is deleted here too, or inserted again (MRG-10).
    private func resolveDeletionElsewhere(of object: ManagedObject) {
        if object.state.contains(.deleted) {
            object.state.insert(.gone)
            return
        }
        guard object.hasChanges else {
            // The object was only watched for conflicts, so there are no values to insert again.
            object.state.remove(.watched)
            return object.markRowMissing()
        }
        switch mergePolicy.kind {
        case .mergeByPropertyObjectTrump, .overwrite:
            report(object, .writtenAgain)
            if let snapshot { object.freezeRow(from: snapshot) }
            holdAllValues(of: object)
            object.record?.frozenRow = nil
            object.state.remove(.gone)
            object.state.insert(.inserted)
        case .error, .mergeByPropertyStoreTrump, .rollback:
            report(object, .deletedByThem)
            dropChanges(of: object)
            object.markRowMissing()
        }
    }

    func dropChanges(of object: ManagedObject) {
        object.state.remove([.updated, .deleted, .watched, .changedSinceWillSave])
        object.record = nil
        object.hint = RowHint()
        if object.scope.isNested { object.state.insert(.fault) }
    }

    // MARK: The report

    private func report(_ object: ManagedObject, _ outcome: MergeReport.Object.Outcome?) {
        if let outcome { merging.report.objects.append(.init(objectID: object.objectID, outcome: outcome)) }
    }

    /// Records the merged values of the properties that both sides changed.
    private func report(
        _ object: ManagedObject, _ stored: [PropertyValue], _ result: (PropertyConflict) -> PropertyValue
    ) {
        guard let record = object.record, !object.state.contains(.deleted) else { return }
        for index in record.originals.keys.sorted() {
            guard let conflict = object.conflict(at: index, stored) else { continue }
            merging.report.properties.append(
                .init(conflict: conflict, result: result(conflict), decision: .policy(mergePolicy)))
        }
    }

    /// Records that all changes of this context are discarded, including those of properties that the other side did not change.
    private func reportAllChanges(of object: ManagedObject, _ stored: [PropertyValue]) {
        guard let record = object.record else { return }
        for index in record.originals.keys.sorted() {
            guard let base = record.originals[index] else { continue }
            let conflict = PropertyConflict(
                objectID: object.objectID, entityName: object.scope.entity.name, key: object.scope.properties[index].name,
                base: base, mine: record.values[index], theirs: stored[index])
            merging.report.properties.append(
                .init(conflict: conflict, result: stored[index], decision: .policy(mergePolicy)))
        }
    }
}

extension ManagedObject {
    /// The conflict in the form for a custom policy.
    final func mergeConflict(_ conflict: VersionConflict) -> MergeConflict {
        MergeConflict(
            objectID: objectID, entityName: scope.entity.name,
            base: entity.namedValues { record?.originals[$0.index] ?? currentValue(of: $0) },
            mine: state.contains(.deleted) ? nil : entity.namedValues { currentValue(of: $0) },
            theirs: conflict.storedValues.map { stored in entity.namedValues { stored[$0.index] } },
            oldVersion: Int(conflict.expectedVersion), newVersion: Int(conflict.storedVersion))
    }
}

extension EntityDescription {
    /// The values of stored attributes and to-one relationships, by name.
    func namedValues(_ value: (PropertyDescription) -> PropertyValue) -> [String: PropertyValue] {
        var values: [String: PropertyValue] = [:]
        for property in properties where !property.isToMany && !property.isTransient { values[property.name] = value(property) }
        return values
    }
}
