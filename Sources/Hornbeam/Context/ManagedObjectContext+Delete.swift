internal import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// Marks an object for deletion and applies its delete rules immediately (MOC-10, DEL-1 … DEL-5).
    ///
    /// An unsaved object is removed immediately, unless a `deny` rule protects it. The objects of `cascade` relationships are deleted
    /// too, depth first, in the order of the relationships and their members. The save checks `deny` rules. Until the save,
    /// `insert(_:)` undoes the deletion. Does nothing for an object that is already deleted or detached. An object
    /// of another context is a programmer error.
    public func delete(_ object: ManagedObject) {
        if object.isDetached { return }
        require(
            object.managedObjectContext === self,
            "The \(object.scope.entity.name) belongs to another context, or its context is gone. Delete it where it belongs.")
        var waiting = [object]
        while let next = waiting.popLast() {
            // The hook may delete the object itself.
            guard !next.state.contains(.preparing) else { continue }
            next.state.insert(.preparing)
            next.prepareForDeletion()
            next.state.remove(.preparing)
            guard !next.state.contains(.deleted), !next.isDetached else { continue }
            mark(next)
            waiting.append(contentsOf: propagate(next).reversed())
            if next.isInserted, !next.isDeletionDenied { forget(next) }
        }
    }

    /// Deletes several objects. Skips those that the delete rules of another one have deleted.
    public func delete(_ objects: some Sequence<ManagedObject>) {
        for object in objects { delete(object) }
    }

    /// Deletes the objects that a request finds, like `delete(_:)` (DEL-6). A request without a predicate deletes all objects of the entity.
    ///
    /// For a large number of objects, use `BatchDeleteRequest`, which creates no objects.
    /// - Returns: The number of objects found.
    /// - Throws: The errors of `fetch`.
    @discardableResult
    public func delete<Object: ManagedObject>(matching request: FetchRequest<Object>) throws -> Int {
        let found = try fetch(request)
        delete(found)
        return found.count
    }

    func mark(_ object: ManagedObject) {
        if let stack = object.undoStack { stack.register(.delete(object, members: object.allMembers)) }
        if !object.state.contains(.inserted) { _ = object.writableRecord() }
        recordChange(of: object)
        object.state.insert(.deleted)
    }

    /// Applies the delete rules of one object. Returns the objects to delete by `cascade` rules.
    private func propagate(_ object: ManagedObject) -> [ManagedObject] {
        var cascading: [ManagedObject] = []
        for property in object.scope.properties where property.isRelationship {
            let destinations = destinations(of: property, from: object)
            switch property.deleteRule {
            case .noAction, .deny: continue
            case .nullify: break
            case .cascade: cascading += destinations.filter { !$0.isDeleted }
            }
            guard let inverse = property.inverse else { continue }
            for destination in destinations where !destination.isDeleted {
                destination.detach(object, from: inverse)
            }
        }
        return cascading
    }

    /// The objects at the other end of a relationship.
    func destinations(of property: PropertyDescription, from object: ManagedObject) -> [ManagedObject] {
        if property.isToMany { return object.members(of: property).map { self.object(with: $0) } }
        return object.destination(of: property).map { [$0] } ?? []
    }

    /// Removes a new object, which has no row, from the context.
    func forget(_ object: ManagedObject) {
        tracker.countEdit()
        tracker.upserted.remove(ObjectIdentifier(object))
        registry.remove(object.registryKey)
        object.detach()
    }

    /// Removes unsaved objects that were deleted, unless a `deny` rule protects them.
    func removeUnsavedDeletions() {
        let unsaved = tracker.objects.all.filter { $0.state.isSuperset(of: [.inserted, .deleted]) }
        guard !unsaved.isEmpty else { return }
        for object in unsaved { forget(object) }
        tracker.objects.compact()
    }
}

extension ManagedObject {
    /// Detaches the object from its context and discards its changes.
    final func detach() {
        state = state.subtracting([.inserted, .updated, .deleted, .watched, .changedSinceWillSave]).union(.detached)
    }
}
