internal import HornbeamModel

/// What happened in a context since it last told its observers.
struct PendingEvent {
    /// Objects that changed, each once, with their states before, which is what observers know of.
    var touched: [(object: ManagedObject, before: ObjectState)] = []
    var inserted: [ManagedObject] = []
    var refreshed: Set<ManagedObjectID> = []

    var isDue: Bool { !touched.isEmpty || !refreshed.isEmpty }

    /// What came of it all: what was changed and changed back within the event is not in it.
    var outcome: (changes: ObjectChanges, updated: [ManagedObject]) {
        var changes = ObjectChanges(inserted: Set(inserted.filter(\.isInserted).map(\.objectID)), refreshed: refreshed)
        var updated: [ManagedObject] = []
        let new = Set(inserted.map(ObjectIdentifier.init))
        for (object, before) in touched where !new.contains(ObjectIdentifier(object)) {
            if before.contains(.deleted) {
                if !object.isDeleted, !object.state.contains(.detached) { changes.inserted.insert(object.objectID) }
            } else if object.state.contains(.deleted) || (before.contains(.inserted) && object.state.contains(.detached)) {
                changes.deleted.insert(object.objectID)
            } else if object.record?.changedInEvent.isEmpty == false, object.hasChanges || before.contains(.updated) {
                changes.updated.insert(object.objectID)
                updated.append(object)
            }
        }
        return (changes, updated)
    }
}
