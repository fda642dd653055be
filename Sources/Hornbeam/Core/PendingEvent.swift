internal import HornbeamModel

/// The changes in a context since its observers were last notified.
struct PendingEvent {
    /// The changed objects, each once, with its state before the event and whether it is new. Observers know the state before the event.
    private(set) var touched: [(object: ManagedObject, before: ObjectState, isNew: Bool)] = []
    /// Objects that became new after their first change in the event.
    private var newLater: Set<ObjectIdentifier> = []
    var refreshed: Set<ManagedObjectID> = []

    var isDue: Bool { !touched.isEmpty || !refreshed.isEmpty }

    mutating func touch(_ object: ManagedObject, before: ObjectState, isNew: Bool) {
        touched.append((object, before, isNew))
    }

    /// Records that an object in the event is new now.
    mutating func recordNew(_ object: ManagedObject) { newLater.insert(ObjectIdentifier(object)) }

    /// The new objects of the event. Observers have not been notified of them.
    var new: Set<ObjectIdentifier> { newLater.union(touched.lazy.filter(\.isNew).map { ObjectIdentifier($0.object) }) }

    /// The net changes: a change that was reverted within the event is not included.
    var outcome: (changes: ObjectChanges, updated: [ManagedObject]) {
        var changes = ObjectChanges(refreshed: refreshed)
        var updated: [ManagedObject] = []
        for (object, before, isNew) in touched {
            if isNew || newLater.contains(ObjectIdentifier(object)) {
                if object.isInserted, !object.isDeleted { changes.inserted.insert(object.objectID) }
            } else if before.contains(.deleted) {
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
