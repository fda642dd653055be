internal import HornbeamModel
internal import HornbeamStore

// Merges of to-many relationships: pending changes of members are adapted to the members in the store.

extension ManagedObjectContext {
    /// Removes deleted objects from the relationships to which this context had added them, like the delete rule nullify.
    ///
    /// - Returns: The objects that lost members.
    func dropMembers(deletedBy changes: [RemoteChange]) -> [ManagedObject] {
        var deleted: Set<ManagedObjectID> = []
        for reference in changes.lazy.flatMap(\.deleted) where registry[reference.key]?.state.contains(.gone) ?? true {
            deleted.insert(objectID(reference))
        }
        return deleted.isEmpty ? [] : dropAdded(deleted)
    }

    /// Drops added members that do not exist in a snapshot. For a switch without a list of the changes, so it looks up each added member.
    func dropMissingMembers(_ new: StackSnapshot, _ changes: inout ObjectChanges) {
        // In a custom store, a row that was not loaded yet is not missing.
        if stack.isIncremental { return }
        var missing: Set<ManagedObjectID> = []
        for id in Set(tracker.objects.all.lazy.flatMap { $0.record?.toMany.values.flatMap(\.added.keys) ?? [] }) where !id.isTemporaryID {
            guard let reference = reference(id), let part = new[reference.slot] else { continue }
            let entity = persistentStoreCoordinator.managedObjectModel.entities[Int(reference.entityIndex)]
            // An error is ignored here: the first read of the object reports it.
            if (try? part.exists(entity, reference.local.key)) == false { missing.insert(id) }
        }
        if !missing.isEmpty { changes.refreshed.formUnion(dropAdded(missing).lazy.map(\.objectID)) }
    }

    private func dropAdded(_ deleted: Set<ManagedObjectID>) -> [ManagedObject] {
        var owners: [ManagedObject] = []
        for object in tracker.objects.all {
            guard let record = object.record, !record.toMany.isEmpty else { continue }
            for (index, change) in record.toMany where !deleted.isDisjoint(with: change.added.keys) {
                if owners.last !== object { owners.append(object) }
                var change = change
                for id in deleted.intersection(change.added.keys) { change.remove(id, isStored: false) }
                let isAsStored = change.added.isEmpty && change.removed.isEmpty && !object.isInserted
                if isAsStored, change.order == object.storedMembers(of: object.scope.properties[index]) { change.order = nil }
                let isOver = change.isEmpty && !object.isInserted
                record.toMany[index] = isOver ? nil : change
                if isOver { record.removeChange(of: index) }
                observers.hub?.notifyOfChange(object, index)
            }
            clearUpdatedIfUnchanged(of: object)
        }
        return owners
    }

    /// Adapts pending changes of members: other saves may have added or removed the same members.
    func rebaseMembers() { rebaseMembers(of: tracker.objects.all) }

    func rebaseMembers(of objects: [ManagedObject]) {
        for object in objects {
            guard let record = object.record, !record.toMany.isEmpty, !object.isInserted else { continue }
            for property in object.scope.properties where property.isToMany {
                guard var change = record.toMany.removeValue(forKey: property.index) else { continue }
                change.rebase { object.isStoredMember($0, of: property) } stored: { object.storedMembers(of: property) }
                record.toMany[property.index] = change
            }
        }
    }
}
