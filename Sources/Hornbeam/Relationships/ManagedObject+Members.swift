internal import HornbeamModel
internal import HornbeamStore

// Reading to-many relationships: the stored members, without those that this context removed, and with those that it added.

extension ManagedObject {
    /// The IDs of the members: in order if the relationship is ordered, else the stored ones by ID, then the new ones in the order of insertion.
    final func members(of property: PropertyDescription) -> [ManagedObjectID] {
        scope.hub?.recordAccess(self, property.index)
        if isDetached { return [] }
        guard let change = record?.toMany[property.index] else { return storedMembers(of: property) }
        if let order = change.order { return order }
        let stored = storedMembers(of: property)
        let kept = change.removed.isEmpty ? stored : stored.filter { !change.removed.contains($0) }
        return kept + change.addedInOrder
    }

    /// The stored members, in order, of a relationship without unsaved changes; nil for other relationships.
    final func unchangedMembers(of property: PropertyDescription) -> StoredMembers? {
        guard parentObject == nil, record?.toMany[property.index] == nil else { return nil }
        scope.hub?.recordAccess(self, property.index)
        return StoredMembers(of: self, readStored(property, or: nil) { try scope.readingMembers(of: property) })
    }

    /// The members at some positions, in the snapshot of the reader.
    final func references(at places: Range<Int>, in reader: MemberReader) -> [ObjectReference] {
        do {
            let members = try reader.members(owner: key, range: places)
            return scope.keyBits == 0 ? members : members.map { $0.inSlot(scope.slot) }
        } catch {
            markFailed(error)
            return []
        }
    }

    /// The keys of the members at some positions, which have one entity.
    final func memberKeys(at places: Range<Int>, in reader: MemberReader) -> [UInt64] {
        do { return try reader.memberKeys(owner: key, range: places) } catch {
            markFailed(error)
            return []
        }
    }

    /// The member at a position of the order of `members(of:)`; nil outside it. Without unsaved changes, it reads only this member: O(log n).
    final func member(at place: Int, of property: PropertyDescription) -> ManagedObjectID? {
        guard parentObject == nil, !isDetached, record?.toMany[property.index] == nil else {
            let members = members(of: property)
            return members.indices.contains(place) ? members[place] : nil
        }
        scope.hub?.recordAccess(self, property.index)
        return readStored(property, or: nil) {
            try scope.readingSnapshot().members(of: property, owner: key, range: place..<place + 1).first
                .map { scope.context.objectID($0.inSlot(scope.slot)) }
        }
    }

    /// The number of members. Loads no member.
    final func memberCount(of property: PropertyDescription) -> Int {
        scope.hub?.recordAccess(self, property.index)
        if isDetached { return 0 }
        return storedMemberCount(of: property) + (record?.toMany[property.index]?.growth ?? 0)
    }

    /// True if an object is a member. Reads only the index entry.
    final func hasMember(_ member: ManagedObjectID, in property: PropertyDescription) -> Bool {
        scope.hub?.recordAccess(self, property.index)
        if isDetached { return false }
        if let change = record?.toMany[property.index] {
            if change.added[member] != nil { return true }
            if change.removed.contains(member) { return false }
        }
        return isStoredMember(member, of: property)
    }

    final func storedMembers(of property: PropertyDescription) -> [ManagedObjectID] {
        if let parentObject { return parentObject.members(of: property) }
        return readStored(property, or: []) {
            let context = scope.context
            return try scope.readingMembers(of: property).members(owner: key).map { context.objectID($0.inSlot(scope.slot)) }
        }
    }

    final func storedMemberCount(of property: PropertyDescription) -> Int {
        if let parentObject { return parentObject.memberCount(of: property) }
        return readStored(property, or: 0) {
            try scope.readingSnapshot().memberCount(of: property, owner: key)
        }
    }

    final func isStoredMember(_ member: ManagedObjectID, of property: PropertyDescription) -> Bool {
        if let parentObject { return parentObject.hasMember(member, in: property) }
        guard !member.isTemporaryID, let reference = scope.localReference(member) else { return false }
        return readStored(property, or: false) {
            try scope.readingSnapshot().contains(reference, in: property, owner: key)
        }
    }

    /// Runs the body if the object has a row. If it throws, the context reports the failure later, and the result is `nothing`.
    private func readStored<Result>(
        _ property: PropertyDescription, or nothing: Result, _ body: () throws -> Result
    ) -> Result {
        if state.contains(.fault) { fireIfNeeded() }
        guard isReadable, !property.isTransient else { return nothing }
        do {
            if scope.isIncremental { try scope.context.loadMembers(of: property, owner: self) }
            return try body()
        } catch {
            markFailed(error)
            return nothing
        }
    }

    /// The value of the members: an array if the relationship is ordered, else a set.
    final func collectionValue(
        _ members: [ManagedObjectID], of property: PropertyDescription
    ) -> PropertyValue {
        property.isOrdered
            ? .array(members.map { .objectID($0) })
            : .set(Set(members.map { .objectID($0) }))
    }

    /// The destination of a to-one relationship.
    final func destination(of property: PropertyDescription) -> ManagedObject? {
        guard let context = readingContext else { return nil }
        let destination: ManagedObject
        if let stored = storedDestination(of: property, in: context) {
            guard let reference = stored else { return nil }
            destination = context.object(for: reference, hint: RowHint())
        } else {
            guard case .objectID(let id) = currentValue(of: property) else { return nil }
            destination = context.object(with: id)
        }
        if !destination.isRowLocated { context.recordStep(from: self, along: property, to: destination) }
        return destination
    }

    /// The destination in the row of an object without unsaved values, as a key of the context; the inner value is nil for a null. Nil if the value must be
    /// read as a `PropertyValue`.
    private func storedDestination(of property: PropertyDescription, in context: ManagedObjectContext) -> ObjectReference?? {
        guard scope.hub == nil, !scope.isNested, !scope.isIncremental, !property.isTransient else { return nil }
        fireIfNeeded()
        guard state.isDisjoint(with: .notPlain), record == nil else { return nil }
        var place = hint
        // The general path reports a failure.
        guard let stored = try? scope.readingSnapshot().toOne(of: property, scope.entity, key, &place) else { return nil }
        hint = place
        return .some(stored?.inSlot(scope.slot))
    }

    /// The context in which related objects are looked up; nil for a detached object.
    final var readingContext: ManagedObjectContext? { isDetached ? nil : scope.context }
}
