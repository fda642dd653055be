internal import HornbeamModel

/// What happened in a context since it last told its observers.
struct PendingEvent {
    /// Objects that changed, each once, with their states before, which is what observers know of, and whether they are new.
    private(set) var touched: [(object: ManagedObject, before: ObjectState, isNew: Bool)] = []
    /// Those that became new after they were touched.
    private var newLater: Set<ObjectIdentifier> = []
    var refreshed: Set<ManagedObjectID> = []

    var isDue: Bool { !touched.isEmpty || !refreshed.isEmpty }

    mutating func touch(_ object: ManagedObject, before: ObjectState, isNew: Bool) {
        touched.append((object, before, isNew))
    }

    /// An object that was touched before is new now.
    mutating func noteNew(_ object: ManagedObject) { newLater.insert(ObjectIdentifier(object)) }

    /// The objects that observers were not told of.
    var new: Set<ObjectIdentifier> { newLater.union(touched.lazy.filter(\.isNew).map { ObjectIdentifier($0.object) }) }

    /// What came of it all: what was changed and changed back within the event is not in it.
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
