internal import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// Marks an object for deletion and applies its delete rules at once (MOC-10, DEL-1 … DEL-5).
    ///
    /// An object that was never saved just vanishes, unless a `deny` rule holds it back. Objects at the end of `cascade` relationships
    /// follow, depth first, in the order of the relationships and their members. A `deny` rule is looked at by the save. Until the save,
    /// `insert(_:)` takes the mark back. Does nothing for objects that are deleted or detached already; ends the process with a sentence
    /// for those of another context.
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

    /// Deletes several objects; those that went with another one are left alone.
    public func delete(_ objects: some Sequence<ManagedObject>) {
        for object in objects { delete(object) }
    }

    /// Deletes the objects that a request finds, as `delete(_:)` does; all of an entity with a plain request (DEL-6).
    ///
    /// For very many, a `BatchDeleteRequest` makes no objects.
    /// - Returns: How many were found.
    /// - Throws: As `fetch`.
    @discardableResult
    public func delete<Object: ManagedObject>(matching request: FetchRequest<Object>) throws -> Int {
        let found = try fetch(request)
        delete(found)
        return found.count
    }

    func mark(_ object: ManagedObject) {
        if let stack = object.undoStack { stack.register(.delete(object, members: object.allMembers)) }
        if !object.state.contains(.inserted) { _ = object.writableRecord() }
        noteChange(of: object)
        object.state.insert(.deleted)
    }

    /// Applies the delete rules of one object; returns the objects that must go with it.
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

    /// A new object goes before it ever had a row.
    func forget(_ object: ManagedObject) {
        tracker.noteEdit()
        registry.remove(object.registryKey)
        object.detach()
    }

    /// Lets go of objects that were deleted before they were ever saved, once no `deny` rule holds them back.
    func forgetUnsavedDeletions() {
        let unsaved = tracker.objects.all.filter { $0.state.isSuperset(of: [.inserted, .deleted]) }
        guard !unsaved.isEmpty else { return }
        for object in unsaved { forget(object) }
        tracker.objects.compact()
    }
}

extension ManagedObject {
    /// The object leaves its context and keeps no change that a save could act upon.
    final func detach() {
        state = state.subtracting([.inserted, .updated, .deleted, .watched, .stirred]).union(.detached)
    }
}
