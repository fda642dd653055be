internal import HornbeamModel

/// The changed objects of a context, and the changes since its observers were last notified.
struct ChangeTracker {
    /// Objects with changes, in the order of their first changes.
    var objects = TrackedObjects()
    /// The changes since the last `processPendingChanges`.
    var event = PendingEvent()
    /// Incremented by each change that a child context can see.
    private(set) var edits: UInt64 = 0
    /// New objects of upserts: a save updates the stored object with the same unique values, if there is one.
    var upserted: Set<ObjectIdentifier> = []
    /// Called at the first change of an event. The view context then schedules `processPendingChanges` at the end of the main actor's turn.
    var eventBegan: (() -> Void)?

    mutating func countEdit() { edits &+= 1 }

    /// Marks an object as changed.
    ///
    /// - Returns: True at the first change of an event. The caller then calls `eventBegan`, which may read the context.
    mutating func recordChange(of object: ManagedObject, isNew: Bool) -> Bool {
        countEdit()
        let before = object.state
        object.state.insert(.changedSinceWillSave)
        if !object.state.contains(.inserted) { object.state.insert(.updated) }
        if !object.state.contains(.tracked) { objects.append(object) }
        if object.state.contains(.touched) {
            if isNew { event.recordNew(object) }
            return false
        }
        object.state.insert(.touched)
        let isFirst = event.touched.isEmpty
        event.touch(object, before: before, isNew: isNew)
        return isFirst
    }

    /// Ends the event and returns it; nil without changes.
    mutating func takeEvent() -> PendingEvent? {
        guard event.isDue else { return nil }
        defer { event = PendingEvent() }
        return event
    }

    /// Discards all changes and the event.
    mutating func forget() {
        objects.removeAll()
        event = PendingEvent()
        upserted.removeAll()
        countEdit()
    }
}
