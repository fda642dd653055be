internal import HornbeamModel
internal import HornbeamStore

// A child context reads the state of its parent, including unsaved changes, and saves into it (MOC-6). Both have the same
// isolation, so a child reads from its parent directly and copies only the values that are accessed.

extension ManagedObjectContext {
    /// Creates a child context. It shows this context's unsaved changes. Its `save()` passes its own
    /// changes to this context and writes nothing to the store. A child can have children.
    ///
    /// ```swift
    /// let draft = context.newChildContext()
    /// let event = try draft.existingObject(Event.self, with: id)
    /// event.name = "Perhaps"
    /// try draft.save()        // now `context` has the change; without `save()` it is discarded
    /// ```
    /// A child retains its parent and has the same isolation. A child of the view context processes its changes at the end of the main actor's
    /// turn, and then merges saves and the parent's changes, like the view context.
    ///
    /// IDs of new objects are temporary until the outermost context saves. Then they change in all contexts. Source: MOC-6, SAV-6.
    public func newChildContext() -> ManagedObjectContext {
        let child = ManagedObjectContext(parent: self)
        child.tracker.eventBegan = tracker.eventBegan
        family.children.removeAll { $0.context == nil }
        family.children.append(WeakContext(context: child))
        return child
    }

    /// The object with a key in the nearest ancestor context in which its values differ from its row.
    func parentObject(forKey key: UInt64) -> ManagedObject? {
        var above = parent
        while let context = above {
            if let object = context.registry[key], object.differsFromRow { return object }
            above = context.parent
        }
        return nil
    }

    /// The object with a temporary ID in an ancestor context.
    func objectInAncestor(_ id: ManagedObjectID) -> ManagedObject? {
        guard let parent else { return nil }
        return parent.registeredObject(for: id) ?? parent.objectInAncestor(id)
    }

    /// The parent's current values of an object; nil if it is deleted in the parent or in the store.
    func parentRow(of object: ManagedObject) throws -> RowValues? {
        if let source = parentObject(forKey: object.registryKey) {
            return source.isDeleted || source.state.contains(.detached) ? nil : source.currentRow
        }
        guard let parent, !object.state.contains(.temporary) else { return nil }
        return try parent.readingSnapshot()[object.scope.slot]?.values(object.scope.entity, object.key)
    }

    /// Merges the parent's changes. Unchanged objects become faults. For changed objects, the parent's values become the base values of the
    /// pending changes, unless both contexts changed the same property. A watched object keeps its values.
    func mergeParentChanges() -> MergedChanges {
        var merged = MergedChanges()
        guard let parent, family.parentEditsSeen != parent.edits else { return merged }
        family.parentEditsSeen = parent.edits
        guard automaticallyMergesChangesFromParent else { return merged }
        merged.unlistedEntities = nil
        tracker.countEdit()
        for object in registry.objects where !object.isInserted && !object.state.contains(.watched) {
            if object.hasChanges {
                if let row = recordingFailure(object, { try parentRow(of: object) }) { rebase(object, on: row) }
            } else if object.differsFromRow || parentObject(forKey: object.registryKey) != nil {
                object.record = nil
                object.hint = RowHint()
                object.state.remove(.gone)
                object.state.insert(.fault)
                merged.changes.refreshed.insert(object.objectID)
                observers.hub?.notifyOfChange(object)
            }
        }
        rebaseMembers()
        return merged
    }

    /// Lets an object whose changes ended without a save show its parent's values again: the base values of the changes may be older.
    func readParent(_ object: ManagedObject) {
        guard object.scope.isNested, automaticallyMergesChangesFromParent, !object.hasChanges,
            object.state.isDisjoint(with: [.watched, .gone, .temporary, .detached]), let record = object.record, record.frozenRow != nil
        else { return }
        record.frozenRow = nil
        record.version = 0
        object.hint = RowHint()
        object.state.insert(.fault)
    }

    /// Called when the parent has saved changes that this context has read. Reads now use the saved rows.
    func readSavedSnapshot() {
        mergeAutomatically { try move() }
        descendantsReadSavedSnapshot()
    }

    /// Switches the descendant contexts to the snapshot that this context has saved.
    func descendantsReadSavedSnapshot() {
        for child in family.children { child.context?.readSavedSnapshot() }
    }

    /// Replaces the temporary IDs of new objects by permanent ones, in this context and its descendants.
    func replaceTemporaryIDs(_ changes: [ManagedObjectID: ManagedObjectID]) {
        for (old, new) in changes {
            guard let object = registeredObject(for: old), let reference = reference(new) else { continue }
            rekey(object, to: reference)
        }
        replaceReferences(changes)
        for object in registry.objects { object.record?.replaceFrozen(changes) }
        for child in family.children { child.context?.replaceTemporaryIDs(changes) }
    }
}

extension ManagedObject {
    /// True if the object's values are not only those of its row. This includes transient values: a child shows them even if there are no changes.
    final var differsFromRow: Bool {
        if hasChanges || !state.isDisjoint(with: [.gone, .temporary]) { return true }
        guard let record else { return false }
        return record.frozenRow != nil || !record.held.isDisjoint(with: scope.shape.transient)
    }

    /// The parent's object that this one reads instead of a row; nil for a detached object, in a context without a parent, and if the parent's
    /// object has only the values of its row.
    final var parentObject: ManagedObject? {
        scope.isNested && !state.contains(.detached) ? scope.context.parentObject(forKey: registryKey) : nil
    }

    /// The values of attributes and to-one relationships in memory, including transient ones.
    final var currentRow: RowValues {
        RowValues(
            version: record?.version ?? storedVersion(),
            values: scope.properties.map { $0.isToMany ? .null : currentValue(of: $0) })
    }

    /// Fills a fault from the parent. Returns false if the parent's object has only the values of its row.
    final func fillFromParent() -> Bool {
        guard scope.isNested else { return false }
        guard let source = parentObject else {
            if state.contains(.temporary) { markRowMissing() }
            return state.contains(.gone)
        }
        if source.isDeleted || source.state.contains(.detached) {
            markRowMissing()
        } else {
            let record = record ?? ObjectRecord(propertyCount: scope.properties.count)
            record.frozenRow = source.currentRow
            self.record = record
            becomeRealised()
        }
        return true
    }
}

extension ObjectRecord {
    /// Replaces temporary IDs by permanent ones in the copy of the row.
    func replaceFrozen(_ changes: [ManagedObjectID: ManagedObjectID]) {
        guard let row = frozenRow else { return }
        var values = row.values
        for index in values.indices {
            if case .objectID(let id) = values[index], let new = changes[id] { values[index] = .objectID(new) }
        }
        frozenRow = RowValues(version: row.version, values: values)
    }
}
