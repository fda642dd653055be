internal import HornbeamModel

/// The changed objects of a context, and what happened to them since observers were last told.
struct ChangeTracker {
    /// Objects with changes, in the order in which they first changed.
    var objects = TrackedObjects()
    /// The changes since the last `processPendingChanges`.
    var event = PendingEvent()
    /// Grows with everything that a child could see of the context.
    private(set) var edits: UInt64 = 0
    /// New objects that represent any stored object with the same unique values.
    var upserted: Set<ObjectIdentifier> = []
    /// Called at the first change of an event. The view context schedules the processing at the end of the main actor's turn.
    var eventBegan: (() -> Void)?

    mutating func noteEdit() { edits &+= 1 }

    /// Marks an object as changed.
    ///
    /// - Returns: True with the first change of an event. The caller tells `eventBegan`, which may look at the context.
    mutating func note(_ object: ManagedObject, isNew: Bool) -> Bool {
        noteEdit()
        let before = object.state
        object.state.insert(.stirred)
        if !object.state.contains(.inserted) { object.state.insert(.updated) }
        if !object.state.contains(.tracked) { objects.append(object) }
        if object.state.contains(.touched) {
            if isNew { event.noteNew(object) }
            return false
        }
        object.state.insert(.touched)
        let isFirst = event.touched.isEmpty
        event.touch(object, before: before, isNew: isNew)
        return isFirst
    }

    /// Ends the event and gives it back; nil when nothing happened.
    mutating func takeEvent() -> PendingEvent? {
        guard event.isDue else { return nil }
        defer { event = PendingEvent() }
        return event
    }

    /// Forgets all changes and what happened.
    mutating func forget() {
        objects.removeAll()
        event = PendingEvent()
        upserted.removeAll()
        noteEdit()
    }
}
