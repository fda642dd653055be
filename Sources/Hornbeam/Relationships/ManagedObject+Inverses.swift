internal import HornbeamModel

// Changes of relationships. They ignore detached objects. Each method changes both ends (REL-3), except for those with names that begin with
// `link` and `unlink`: they change one end, and callers call them for both ends.

extension ManagedObject {
    /// Sets a to-one relationship to another object, or to nil.
    final func setDestination(_ target: ManagedObject?, of property: PropertyDescription) {
        guard takes(target, property) else { return }
        let old = destination(of: property)
        guard old !== target else { return }
        if let inverse = property.inverse {
            if let old { old.detach(self, from: inverse) }
            if let target, !inverse.isToMany, let rival = target.destination(of: inverse), rival !== self {
                rival.assign(.null, to: property)
            }
            assign(target.map { .objectID($0.objectID) } ?? .null, to: property)
            if let target { target.attach(self, to: inverse) }
        } else {
            assign(target.map { .objectID($0.objectID) } ?? .null, to: property)
        }
    }

    /// Adds a member to a to-many relationship; to an ordered one at the end, unless a position is given.
    final func add(_ member: ManagedObject, to property: PropertyDescription, at place: Int? = nil) {
        guard takes(member, property) else { return }
        if hasMember(member.objectID, in: property) {
            if let place { move(member.objectID, to: place, in: property) }
            return
        }
        if let inverse = property.inverse {
            if !inverse.isToMany, let owner = member.destination(of: inverse), owner !== self {
                owner.unlink(member, from: property)
            }
            link(member, to: property, at: place)
            member.attach(self, to: inverse)
        } else {
            link(member, to: property, at: place)
        }
    }

    /// Removes a member from a to-many relationship.
    final func remove(_ member: ManagedObject, from property: PropertyDescription) {
        requireSameContext(member, property)
        guard hasMember(member.objectID, in: property) else { return }
        unlink(member, from: property)
        if let inverse = property.inverse { member.detach(self, from: inverse) }
    }

    /// Replaces all members. Common members are not changed (REL-12).
    final func replaceMembers(_ members: [ManagedObject], of property: PropertyDescription) {
        let members = members.filter { takes($0, property) }
        let wanted = Set(members.map(\.objectID))
        let context = scope.context
        let present = self.members(of: property)
        var dropped = present.filter { !wanted.contains($0) }
        if property.isOrdered, !dropped.isEmpty {
            // The removed members are moved to the end of the order and removed from there, which takes constant time for each.
            reorder(present.filter(wanted.contains) + dropped, in: property)
            dropped.reverse()
        }
        for id in dropped { remove(context.object(with: id), from: property) }
        for member in members { add(member, to: property) }
        if property.isOrdered { reorder(uniqued(members), in: property) }
    }

    private func uniqued(_ members: [ManagedObject]) -> [ManagedObjectID] {
        var seen: Set<ManagedObjectID> = []
        return members.map(\.objectID).filter { seen.insert($0).inserted }
    }

    /// Sets the order of the members.
    final func reorder(_ order: [ManagedObjectID], in property: PropertyDescription) {
        let old = members(of: property)
        guard old != order else { return }
        if let stack = undoStack {
            let context = scope.context
            stack.register(
                .reorder(
                    self, property, old: old.map { context.object(with: $0) }, new: order.map { context.object(with: $0) }))
        }
        changeMembers(of: property) { $0.order = order }
    }

    /// Moves a member to a position.
    final func move(_ member: ManagedObjectID, to place: Int, in property: PropertyDescription) {
        var order = members(of: property)
        guard let current = order.firstIndex(of: member) else { return }
        order.remove(at: current)
        order.insert(member, at: min(place, order.count))
        reorder(order, in: property)
    }

    /// Adds an object to the inverse at this end, because the object now refers to this one.
    private func attach(_ object: ManagedObject, to inverse: PropertyDescription) {
        if inverse.isToMany {
            link(object, to: inverse)
        } else {
            assign(.objectID(object.objectID), to: inverse)
        }
    }

    /// Removes an object from the inverse at this end, because the object no longer refers to this one.
    final func detach(_ object: ManagedObject, from inverse: PropertyDescription) {
        if inverse.isToMany {
            unlink(object, from: inverse)
        } else if case .objectID(object.objectID) = currentValue(of: inverse) {
            assign(.null, to: inverse)
        }
    }

    final func link(_ member: ManagedObject, to property: PropertyDescription, at place: Int? = nil) {
        let id = member.objectID
        let isStored = isStoredMember(id, of: property)
        if isPendingOrderWithout(id, isStored, property), place.map({ $0 >= memberCount(of: property) }) ?? true {
            // Appended in place, without a copy of the order, so appending many members takes linear time.
            undoStack?.register(.link(self, property, member, place: memberCount(of: property)))
            return changeMembers(of: property) { change in
                change.add(id, isStored: isStored)
                change.order?.append(id)
            }
        }
        let order = property.isOrdered ? members(of: property) : nil
        undoStack?.register(.link(self, property, member, place: order.map { min(place ?? $0.count, $0.count) }))
        changeMembers(of: property) { change in
            change.add(id, isStored: isStored)
            guard var order, !order.contains(id) else { return }
            order.insert(id, at: min(place ?? order.count, order.count))
            change.order = order
        }
    }

    /// True if this context changed the order of a relationship, and the order does not contain an object.
    private func isPendingOrderWithout(_ id: ManagedObjectID, _ isStored: Bool, _ property: PropertyDescription) -> Bool {
        guard property.isOrdered, let change = record?.toMany[property.index], change.order != nil else { return false }
        return change.added[id] == nil && (!isStored || change.removed.contains(id))
    }

    final func unlink(_ member: ManagedObject, from property: PropertyDescription) {
        let id = member.objectID
        guard hasMember(id, in: property) else { return }
        let isStored = isStoredMember(id, of: property)
        if let undoStack {
            let place = property.isOrdered ? members(of: property).lastIndex(of: id) : nil
            undoStack.register(.unlink(self, property, member, place: place))
        }
        // A pending order is changed in place. A second reference to it here would make the change copy it.
        let isFirstChange = property.isOrdered && record?.toMany[property.index]?.order == nil
        let order = isFirstChange ? members(of: property) : nil
        changeMembers(of: property) { change in
            if change.order == nil { change.order = order }
            change.remove(id, isStored: isStored)
        }
    }

    private func changeMembers(of property: PropertyDescription, _ body: (inout ToManyChange) -> Void) {
        guard !isDetached else { return }
        let record = membersRecord()
        var change = record.toMany.removeValue(forKey: property.index) ?? ToManyChange()
        body(&change)
        // An order equal to the stored one is not a change.
        if change.growth == 0, change.removed.isEmpty, let order = change.order, !isInserted,
            order == storedMembers(of: property)
        {
            change.order = nil
        }
        if change.isEmpty, !isInserted {
            record.removeChange(of: property.index)
        } else {
            record.toMany[property.index] = change
            record.changed.insert(property.index)
        }
        record.recordAssignment(of: property.index)
        scope.context.recordChange(of: self)
        scope.hub?.notifyOfChange(self, property.index)
    }

    /// The record for a change of members. Such a change does not write the row, so the record needs no version of the row, and a
    /// fault need not be fired.
    private func membersRecord() -> ObjectRecord {
        if let record { return record }
        let record = ObjectRecord(propertyCount: scope.properties.count)
        self.record = record
        return record
    }

    /// Stops if the objects belong to different contexts, which is a programmer error, unless one of the two is detached.
    private func requireSameContext(_ other: ManagedObject, _ property: PropertyDescription) {
        if isDetached || other.isDetached { return }
        unsafe require(
            other.scope.livingContext === scope.livingContext,
            "\(scope.entity.name).\(property.name) was given an object of another context. Fetch it in this "
                + "context by its objectID first.")
    }

    /// False if one of the objects is detached; then the relationship does not change. An object of another context or of a wrong
    /// entity is a programmer error.
    private func takes(_ other: ManagedObject?, _ property: PropertyDescription) -> Bool {
        if isDetached { return false }
        guard let other else { return true }
        if other.isDetached { return false }
        requireSameContext(other, property)
        guard let destination = property.destinationEntity else { return true }
        require(
            other.scope.entity.isKind(of: destination),
            "\(scope.entity.name).\(property.name) takes objects of \(destination.name), not of "
                + "\(other.scope.entity.name).")
        return true
    }
}
