internal import HornbeamModel
internal import HornbeamStore

// Resolution of conflicts about unique values (MRG-8, MRG-9).
//
// A new object and the object that has its unique values become one object, which has the ID of the stored object. Under the two
// policies by which the object in memory wins, it has the values of the new object; under the other policies, the stored values. If several new
// objects of one save conflict, the first survives; under the first two policies, it gets the values and relationships of the later ones.
// Relationships to a removed object then refer to the survivor. An upserted object is merged into the stored one under every policy,
// and changes only the properties that were set on it. The survivor is of the entity of the removed object or of a subentity: another one lacks
// properties, and the relationships to the removed object may not lead to it. Without such a survivor, no policy resolves the conflict.

extension ManagedObjectContext {
    /// Resolves a conflict. Returns false if the policy cannot resolve it.
    func resolve(_ conflict: UniqueConflict, _ draft: ChangeSetBuilder) throws -> Bool {
        let rivals = conflict.objects.compactMap { draft.object(withKey: $0.key) }
        guard canBecomeOne(rivals, conflict) else { return false }
        let newcomers = rivals.filter(\.isInserted)
        let isUpsert = !newcomers.isEmpty && newcomers.allSatisfy { tracker.upserted.contains(ObjectIdentifier($0)) }
        let resolution = isUpsert ? .new : try resolution(of: conflict, rivals)
        guard let resolution else { return false }
        if let existing = conflict.existing {
            guard newcomers.count == rivals.count, !rivals.isEmpty else { return false }
            var survivor: ManagedObject?
            if newcomers.contains(where: { $0.entity.index != existing.entityIndex }) {
                // No object changes its class, so the object of the row must be registered.
                survivor = try? existingObject(with: objectID(existing))
                guard survivor != nil else { return false }
            }
            for newcomer in newcomers {
                merge(newcomer, into: existing, conflict, try propertiesTaken(from: newcomer, by: resolution))
            }
            withExtendedLifetime(survivor) {}
            return true
        }
        let candidates = rivals.contains { !$0.isInserted } ? rivals.filter { !$0.isInserted } : rivals
        guard let survivor = candidates.first(where: { candidate in rivals.allSatisfy { candidate.entity.isKind(of: $0.entity) } })
        else { return false }
        let losers = rivals.filter { $0 !== survivor }
        guard !losers.isEmpty, losers.allSatisfy(\.isInserted) else { return false }
        for loser in losers { fold(loser, into: survivor, taking: try propertiesTaken(from: loser, by: resolution)) }
        return true
    }

    /// True if one of the objects of a conflict is of an entity that all others can become: their own or a subentity of it.
    func canBecomeOne(_ rivals: [ManagedObject], _ conflict: UniqueConflict) -> Bool {
        let stored = conflict.existing.map { persistentStoreCoordinator.managedObjectModel.entities[Int($0.entityIndex)] }
        let entities = stored.map { [$0] } ?? rivals.map { $0.entity }
        return entities.contains { entity in rivals.allSatisfy { entity.isKind(of: $0.entity) } }
    }

    /// Determines whose values the surviving object gets; nil if the policy refuses the save.
    private func resolution(of conflict: UniqueConflict, _ rivals: [ManagedObject]) throws -> ConstraintResolution? {
        if let resolve = mergePolicy.resolver?.resolveConstraint {
            switch try resolve(constraintConflict(conflict, rivals)) {
            case .base: break
            case let resolution: return resolution
            }
        }
        switch mergePolicy.kind {
        case .error: return nil
        case .mergeByPropertyObjectTrump, .overwrite: return .new
        case .mergeByPropertyStoreTrump, .rollback: return .stored
        }
    }

    /// The properties whose values the survivor gets from an object that is merged into it; nil for none.
    private func propertiesTaken(from object: ManagedObject, by resolution: ConstraintResolution) throws -> PropertySet? {
        switch resolution {
        case .base, .stored: return nil
        case .new: return object.scope.properties.reduce(into: PropertySet()) { if isSetByUpsert(object, $1.index) { $0.insert($1.index) } }
        case .merged(let values):
            var taken = PropertySet()
            for (key, value) in values.sorted(by: { $0.key < $1.key }) {
                try object.setValue(value, forKey: key)
                taken.insert(try object.entity.property(named: key).index)
            }
            return taken
        }
    }

    /// The conflict in the form for a custom policy and for the thrown error.
    func constraintConflict(_ conflict: UniqueConflict, _ rivals: [ManagedObject]) -> ConstraintConflict {
        ConstraintConflict(
            entityName: conflict.entity.name, keys: conflict.properties.map(\.name), values: conflict.values,
            objectIDs: rivals.map(\.objectID), mine: rivals.map { object in object.entity.namedValues { object.currentValue(of: $0) } },
            storedID: conflict.existing.map(objectID),
            theirs: conflict.existing.flatMap { existing in
                let entity = persistentStoreCoordinator.managedObjectModel.entities[Int(existing.entityIndex)]
                return conflict.existingValues.map { stored in entity.namedValues { stored[$0.index] } }
            })
    }

    private func merge(
        _ newcomer: ManagedObject, into existing: ObjectReference, _ conflict: UniqueConflict,
        _ taken: PropertySet?
    ) {
        let scope = scope(at: Int(existing.entityIndex), in: existing.slot)
        if let registered = registry.object(existing.key, of: scope) { return fold(newcomer, into: registered, taking: taken) }
        let old = newcomer.objectID
        rekey(newcomer, to: existing)
        merging.report.objects.append(.init(objectID: old, outcome: .became(newcomer.objectID)))
        replaceReferences([old: newcomer.objectID])
        newcomer.state.remove(.inserted)
        guard let taken, let record = newcomer.record, let stored = conflict.existingValues else {
            dropChanges(of: newcomer)
            newcomer.state.insert(.fault)
            return
        }
        newcomer.state.insert(.updated)
        record.version = conflict.existingVersion
        // With an inverse, the change of the inverse at the other end already refers to the survivor.
        for property in newcomer.scope.properties where property.isToMany && property.inverse == nil && !taken.contains(property.index) {
            record.removeChange(of: property.index)
        }
        for index in record.held where !newcomer.scope.properties[index].isTransient {
            if taken.contains(index) {
                record.changed.insert(index)
                record.originals[index] = stored[index]
            } else {
                record.removeChange(of: index)
                record.release(index)
            }
        }
    }

    /// Merges an object that will not be saved into another object.
    private func fold(_ loser: ManagedObject, into survivor: ManagedObject, taking taken: PropertySet?) {
        merging.report.objects.append(.init(objectID: loser.objectID, outcome: .became(survivor.objectID)))
        for property in loser.scope.properties {
            let isTaken = taken?.contains(property.index) ?? false
            if property.isToMany {
                for id in loser.members(of: property) {
                    let member = object(with: id)
                    loser.remove(member, from: property)
                    if isTaken { survivor.add(member, to: property) }
                }
            } else if property.isRelationship {
                let target = loser.destination(of: property)
                loser.setDestination(nil, of: property)
                if isTaken { survivor.setDestination(target, of: property) }
            } else if isTaken {
                survivor.assign(loser.currentValue(of: property), to: property)
            }
        }
        replaceReferences([loser.objectID: survivor.objectID])
        forget(loser)
    }

    /// The properties that an upserted object changes in the stored one; nil for other objects.
    func upsertedProperties(of object: ManagedObject) -> PropertySet? {
        guard tracker.upserted.contains(ObjectIdentifier(object)), let record = object.record else { return nil }
        var brought = PropertySet()
        for index in record.held where isSetByUpsert(object, index) { brought.insert(index) }
        return brought
    }

    /// False for properties of an upserted object that only have their default value.
    private func isSetByUpsert(_ object: ManagedObject, _ index: Int) -> Bool {
        guard tracker.upserted.contains(ObjectIdentifier(object)) else { return true }
        guard let record = object.record else { return true }
        if record.assigned.contains(index) { return true }
        return !record.initialized.contains(index) && record.values[index] != object.scope.shape.newValues[index]
    }
}
