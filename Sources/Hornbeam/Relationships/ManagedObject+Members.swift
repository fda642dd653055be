internal import HornbeamModel
internal import HornbeamStore

// Reading to-many relationships: stored members, less the removed, plus the added.

extension ManagedObject {
    /// The members as IDs: in their order when ordered, else stored ones by ID, then new ones as they came.
    final func members(of property: PropertyDescription) -> [ManagedObjectID] {
        scope.hub?.noteAccess(self, property.index)
        guard let change = record?.toMany[property.index] else { return storedMembers(of: property) }
        if let order = change.order { return order }
        let stored = storedMembers(of: property)
        let kept = change.removed.isEmpty ? stored : stored.filter { !change.removed.contains($0) }
        return kept + change.addedInOrder
    }

    /// The number of members; loads nothing.
    final func memberCount(of property: PropertyDescription) -> Int {
        scope.hub?.noteAccess(self, property.index)
        return storedMemberCount(of: property) + (record?.toMany[property.index]?.growth ?? 0)
    }

    /// Whether an object is a member; loads nothing but the index entry.
    final func hasMember(_ member: ManagedObjectID, in property: PropertyDescription) -> Bool {
        scope.hub?.noteAccess(self, property.index)
        if let change = record?.toMany[property.index] {
            if change.added[member] != nil { return true }
            if change.removed.contains(member) { return false }
        }
        return isStoredMember(member, of: property)
    }

    final func storedMembers(of property: PropertyDescription) -> [ManagedObjectID] {
        if let parentObject { return parentObject.members(of: property) }
        return readStored(property, or: []) { snapshot, context in
            try snapshot.members(of: property, owner: key).map { context.objectID($0.inSlot(scope.slot)) }
        }
    }

    final func storedMemberCount(of property: PropertyDescription) -> Int {
        if let parentObject { return parentObject.memberCount(of: property) }
        return readStored(property, or: 0) { snapshot, _ in
            try snapshot.memberCount(of: property, owner: key)
        }
    }

    final func isStoredMember(_ member: ManagedObjectID, of property: PropertyDescription) -> Bool {
        if let parentObject { return parentObject.hasMember(member, in: property) }
        guard !member.isTemporaryID, let reference = scope.localReference(member) else { return false }
        return readStored(property, or: false) { snapshot, _ in
            try snapshot.contains(reference, in: property, owner: key)
        }
    }

    /// Runs the body on the snapshot where the object has a row; a failure is kept for `save()`.
    private func readStored<Result>(
        _ property: PropertyDescription, or nothing: Result,
        _ body: (StoreSnapshot, ManagedObjectContext) throws -> Result
    ) -> Result {
        if state.contains(.fault) { fireIfNeeded() }
        guard isReadable, !property.isTransient else { return nothing }
        do {
            let context = scope.context
            if scope.isIncremental { try context.loadMembers(of: property, owner: self) }
            return try body(try scope.readingSnapshot(), context)
        } catch {
            markFailed(error)
            return nothing
        }
    }

    /// Members as a value: an array where the order counts, else a set.
    final func collectionValue(
        _ members: [ManagedObjectID], of property: PropertyDescription
    ) -> PropertyValue {
        property.isOrdered
            ? .array(members.map { .objectID($0) })
            : .set(Set(members.map { .objectID($0) }))
    }

    /// The object at the other end of a to-one relationship.
    final func destination(of property: PropertyDescription) -> ManagedObject? {
        guard case .objectID(let id) = currentValue(of: property), let context = readingContext else { return nil }
        let destination = context.object(with: id)
        if !destination.isPlaceKnown { context.noteStep(from: self, along: property, to: destination) }
        return destination
    }

    /// Where related objects are looked up; nil for an object that belongs to no context any more.
    final var readingContext: ManagedObjectContext? {
        state.contains(.detached) ? nil : scope.context
    }
}
