internal import HornbeamModel
internal import HornbeamStore

// A child context reads what its parent shows, unsaved changes included, and saves into it (MOC-6). Both live
// in one isolation, so that a child asks its parent directly and nothing is copied that nobody looks at.

extension ManagedObjectContext {
    /// A scratch pad over this context: it sees this context's unsaved changes, and its `save()` hands its own
    /// changes to this context without writing anything. Children may have children.
    ///
    /// ```swift
    /// let draft = context.newChildContext()
    /// let event = try draft.existingObject(Event.self, with: id)
    /// event.name = "Perhaps"
    /// try draft.save()        // now `context` has the change; or let go of `draft`, and nothing happened
    /// ```
    /// A child keeps its parent alive, and lives where the parent lives. A child of the view context does by itself what the view context
    /// does by itself: it processes its changes at the end of the main actor's turn, and takes in saves and the parent's changes.
    ///
    /// IDs of new objects stay temporary until the outermost context saves, and change in all contexts then. Source: MOC-6, SAV-6.
    public func newChildContext() -> ManagedObjectContext {
        let child = ManagedObjectContext(parent: self)
        child.tracker.eventBegan = tracker.eventBegan
        family.children.removeAll { $0.context == nil }
        family.children.append(WeakContext(context: child))
        return child
    }

    /// The nearest context above that shows an object otherwise than the store does, and the object there.
    func parentObject(forKey key: UInt64) -> ManagedObject? {
        var above = parent
        while let context = above {
            if let object = context.registry[key], object.isOwnView { return object }
            above = context.parent
        }
        return nil
    }

    /// The object of that temporary ID in a context above.
    func objectAbove(_ id: ManagedObjectID) -> ManagedObject? {
        guard let parent else { return nil }
        return parent.registeredObject(for: id) ?? parent.objectAbove(id)
    }

    /// What the parent shows of an object now; nil when it is deleted there, or in the store.
    func parentRow(of object: ManagedObject) throws -> RowValues? {
        if let source = parentObject(forKey: object.registryKey) {
            return source.isDeleted || source.state.contains(.detached) ? nil : source.shownRow
        }
        guard let parent, !object.state.contains(.temporary) else { return nil }
        return try parent.readingSnapshot()[object.scope.slot]?.values(object.scope.entity, object.key)
    }

    /// Shows what the parent shows since it changed: unchanged objects are read anew, changed ones take the
    /// parent's values as their base where both do not disagree. A watched object stays what it was.
    func followParent() -> MergedChanges {
        var merged = MergedChanges()
        guard let parent, family.parentEditsSeen != parent.edits else { return merged }
        family.parentEditsSeen = parent.edits
        guard automaticallyMergesChangesFromParent else { return merged }
        merged.isElsewhere = true
        tracker.noteEdit()
        for object in registry.objects where !object.isInserted && !object.state.contains(.watched) {
            if object.hasChanges {
                if let row = noting(object, { try parentRow(of: object) }) { rebase(object, on: row) }
            } else if object.isOwnView || parentObject(forKey: object.registryKey) != nil {
                object.record = nil
                object.hint = RowHint()
                object.state.remove(.gone)
                object.state.insert(.fault)
                merged.changes.refreshed.insert(object.objectID)
                observers.hub?.noteChange(object)
            }
        }
        rebaseMembers()
        return merged
    }

    /// The parent has written what this context saw of it as unsaved: reads go to the rows that it wrote.
    func followSave() {
        mergeByItself { try move() }
        followSaveBelow()
    }

    /// Takes the contexts below to the state that this one has saved.
    func followSaveBelow() {
        for child in family.children { child.context?.followSave() }
    }

    /// Objects that were new have the IDs that they keep, in this context and in those below.
    func adopt(_ changes: [ManagedObjectID: ManagedObjectID]) {
        for (old, new) in changes {
            guard let object = registeredObject(for: old), let reference = reference(new) else { continue }
            rekey(object, to: reference)
        }
        replaceReferences(changes)
        for object in registry.objects { object.record?.replaceFrozen(changes) }
        for child in family.children { child.context?.adopt(changes) }
    }
}

/// A child that nobody keeps is gone.
struct WeakContext {
    weak var context: ManagedObjectContext?
}

extension ManagedObject {
    /// True when the object does not just show its row. Transient values count: a child shows them whether there are changes or not.
    final var isOwnView: Bool {
        if hasChanges || !state.isDisjoint(with: [.gone, .temporary]) { return true }
        guard let record else { return false }
        return record.frozenRow != nil || !record.held.isDisjoint(with: scope.shape.transient)
    }

    /// The object above that this one reads instead of a row; nil in a context without a parent.
    final var parentObject: ManagedObject? {
        scope.isNested && !state.contains(.detached) ? scope.context.parentObject(forKey: registryKey) : nil
    }

    /// Attributes and to-ones as they are in memory, transient ones included.
    final var shownRow: RowValues {
        RowValues(
            version: record?.version ?? storedVersion(),
            values: scope.properties.map { $0.isToMany ? .null : currentValue(of: $0) })
    }

    /// Fills a fault from the parent; false when the parent shows nothing but the row.
    final func fillFromParent() -> Bool {
        guard scope.isNested else { return false }
        guard let source = parentObject else {
            if state.contains(.temporary) { markGone() }
            return state.contains(.gone)
        }
        if source.isDeleted || source.state.contains(.detached) {
            markGone()
        } else {
            let record = record ?? ObjectRecord(propertyCount: scope.properties.count)
            record.frozenRow = source.shownRow
            self.record = record
            becomeRealised()
        }
        return true
    }
}

extension ObjectRecord {
    /// Puts permanent IDs in the place of temporary ones in the copy of the row.
    func replaceFrozen(_ changes: [ManagedObjectID: ManagedObjectID]) {
        guard let row = frozenRow else { return }
        var values = row.values
        for index in values.indices {
            if case .objectID(let id) = values[index], let new = changes[id] { values[index] = .objectID(new) }
        }
        frozenRow = RowValues(version: row.version, values: values)
    }
}
