internal import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// Undoes the changes since the last event ended. If there are none, undoes the changes of the last event (UND-2).
    ///
    /// Does nothing without an `undoStack`, or if there is no step to undo. `awake(fromSnapshotEvents:)` is called,
    /// `awakeFromInsert` is not. Objects that another save has deleted are skipped.
    public func undo() {
        guard let undoStack else { return }
        require(!undoStack.isGrouping, "undo() was called inside a group. End the group first.")
        processPendingChanges()
        undoStack.undoLast { group in
            for step in group.steps.reversed() { undoStep(step) }
            for (object, events) in group.events { object.awake(fromSnapshotEvents: events) }
        }
        processPendingChanges()
    }

    /// Redoes the changes of the last `undo`. Another change removes all steps to redo (UND-2).
    public func redo() {
        guard let undoStack else { return }
        require(!undoStack.isGrouping, "redo() was called inside a group. End the group first.")
        processPendingChanges()
        undoStack.redoLast { group in
            for step in group.steps { redoStep(step) }
            for (object, events) in group.events { object.awake(fromSnapshotEvents: events) }
        }
        processPendingChanges()
    }

    private func undoStep(_ step: UndoStep) {
        switch step {
        case .insert(let object): removeObject(object)
        case .delete(let object, let members): restoreObject(object, members)
        case .undelete(let object): removeObject(object)
        case .set(let object, let property, let old, _): set(object, property, old)
        case .link(let object, let property, let member, _): unlink(object, property, member)
        case .unlink(let object, let property, let member, let place): link(object, property, member, place)
        case .reorder(let object, let property, let old, _): reorder(object, property, old)
        }
    }

    private func redoStep(_ step: UndoStep) {
        switch step {
        case .insert(let object): restoreObject(object, [])
        case .delete(let object, _): removeObject(object)
        case .undelete(let object): restoreObject(object, [])
        case .set(let object, let property, _, let new): set(object, property, new)
        case .link(let object, let property, let member, let place): link(object, property, member, place)
        case .unlink(let object, let property, let member, _): unlink(object, property, member)
        case .reorder(let object, let property, _, let new): reorder(object, property, new)
        }
    }

    // MARK: Objects

    private func removeObject(_ object: ManagedObject) {
        guard object.managedObjectContext === self, !object.isDeleted else { return }
        mark(object)
        if object.state.contains(.inserted) { forget(object) }
    }

    private func restoreObject(_ object: ManagedObject, _ members: [(PropertyDescription, [ManagedObject])]) {
        guard object.state.contains(.detached) else {
            if object.state.contains(.deleted) { insert(object) }
            return
        }
        guard unsafe object.scope.livingContext === self, registry[object.registryKey] == nil else { return }
        let wasSaved = object.record?.frozenRow != nil
        reinsert(object)
        guard wasSaved else { return }
        for (property, objects) in members {
            for member in objects { object.link(member, to: property) }
        }
    }

    // MARK: Properties

    private func isInContext(_ object: ManagedObject) -> Bool {
        object.managedObjectContext === self && !object.state.contains(.gone)
    }

    private func set(_ object: ManagedObject, _ property: PropertyDescription, _ value: UndoValue) {
        if isInContext(object) { object.assign(value.propertyValue, to: property) }
    }

    private func link(
        _ object: ManagedObject, _ property: PropertyDescription, _ member: ManagedObject, _ place: Int?
    ) {
        if isInContext(object), !object.hasMember(member.objectID, in: property) {
            object.link(member, to: property, at: place)
        }
    }

    private func unlink(_ object: ManagedObject, _ property: PropertyDescription, _ member: ManagedObject) {
        if isInContext(object) { object.unlink(member, from: property) }
    }

    private func reorder(_ object: ManagedObject, _ property: PropertyDescription, _ order: [ManagedObject]) {
        guard isInContext(object) else { return }
        let wanted = order.map(\.objectID)
        let named = Set(wanted)
        let present = object.members(of: property)
        let here = Set(present)
        object.reorder(wanted.filter(here.contains) + present.filter { !named.contains($0) }, in: property)
    }
}

extension ManagedObject {
    /// The undo stack of the context; nil if it does not record changes.
    final var undoStack: UndoStack? {
        guard let stack = unsafe scope.livingContext?.undoStack, stack.isRegistering else { return nil }
        return stack
    }

    /// The value in the form for the undo stack.
    final func undoValue(_ value: PropertyValue, of property: PropertyDescription) -> UndoValue {
        guard property.isRelationship, case .objectID(let id) = value else { return .value(value) }
        return .object(scope.context.object(with: id))
    }

    /// The members of the object's to-many relationships. An undo restores them if the deletion was saved.
    final var allMembers: [(PropertyDescription, [ManagedObject])] {
        scope.properties.filter(\.isToMany).map { property in
            (property, members(of: property).map { scope.context.object(with: $0) })
        }
    }
}
