internal import HornbeamModel
internal import HornbeamStore

// Who keeps a value that must be unique (MRG-8, MRG-9).
//
// Under both policies by which objects win, a new object takes the place of the stored one: it gets that object's
// ID and its own values. Under the others it gives way and becomes the stored one. Among new objects of one save
// the first survives; where objects win it takes the values and relationships of the later ones. What pointed at a
// loser points at the survivor. An upserted object takes the stored one's place under every policy, and brings
// only what was set on it.

extension ManagedObjectContext {
    /// Settles a conflict; false when the policy cannot.
    func settle(_ conflict: UniqueConflict, _ draft: SaveDraft) throws -> Bool {
        let rivals = conflict.objects.compactMap { draft.object(withKey: $0.key) }
        let newcomers = rivals.filter(\.isInserted)
        let isUpsert = !newcomers.isEmpty && newcomers.allSatisfy { upserted.contains(ObjectIdentifier($0)) }
        guard mergePolicy.kind != .error || isUpsert else { return false }
        let objectWins = isUpsert || mergePolicy.kind == .mergeByPropertyObjectTrump || mergePolicy.kind == .overwrite
        if let existing = conflict.existing {
            guard newcomers.count == rivals.count, !rivals.isEmpty else { return false }
            for newcomer in newcomers { merge(newcomer, into: existing, conflict, objectWins) }
            return true
        }
        guard let survivor = rivals.first(where: { !$0.isInserted }) ?? rivals.first else { return false }
        let losers = rivals.filter { $0 !== survivor }
        guard !losers.isEmpty, losers.allSatisfy(\.isInserted) else { return false }
        for loser in losers { fold(loser, into: survivor, takesValues: objectWins) }
        return true
    }

    private func merge(
        _ newcomer: ManagedObject, into existing: ObjectReference, _ conflict: UniqueConflict,
        _ objectWins: Bool
    ) {
        if let registered = registry[existing.key] {
            return fold(newcomer, into: registered, takesValues: objectWins)
        }
        let old = newcomer.objectID
        rekey(newcomer, to: existing)
        mergeReport.objects.append(.init(objectID: old, outcome: .became(newcomer.objectID)))
        replaceReferences([old: newcomer.objectID])
        newcomer.state.remove(.inserted)
        guard objectWins, let record = newcomer.record, let stored = conflict.existingValues else {
            dropChanges(of: newcomer)
            newcomer.state.insert(.fault)
            return
        }
        newcomer.state.insert(.updated)
        record.version = conflict.existingVersion
        for index in record.held where !newcomer.scope.properties[index].isTransient {
            if brings(newcomer, index) {
                record.changed.insert(index)
                record.originals[index] = stored[index]
            } else {
                record.changed.remove(index)
                record.release(index)
            }
        }
    }

    /// Lets one object stand for another that will not be saved.
    private func fold(_ loser: ManagedObject, into survivor: ManagedObject, takesValues: Bool) {
        mergeReport.objects.append(.init(objectID: loser.objectID, outcome: .became(survivor.objectID)))
        for property in loser.scope.properties {
            if property.isToMany {
                for id in loser.members(of: property) {
                    let member = object(with: id)
                    loser.remove(member, from: property)
                    if takesValues { survivor.add(member, to: property) }
                }
            } else if property.isRelationship {
                let target = loser.destination(of: property)
                loser.setDestination(nil, of: property)
                if takesValues, brings(loser, property.index) || target != nil { survivor.setDestination(target, of: property) }
            } else if takesValues, brings(loser, property.index) {
                survivor.assign(loser.currentValue(of: property), to: property)
            }
        }
        replaceReferences([loser.objectID: survivor.objectID])
        forget(loser)
    }

    /// False for what an upserted object has only by default.
    private func brings(_ object: ManagedObject, _ index: Int) -> Bool {
        guard upserted.contains(ObjectIdentifier(object)) else { return true }
        return object.record?.values[index] != object.scope.shape.newValues[index]
    }
}
