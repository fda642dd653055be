internal import HornbeamModel

/// What happened in a context since it last told its observers.
struct PendingEvent {
    /// Objects that changed, each once.
    var touched: [ManagedObject] = []
    var inserted: [ManagedObject] = []
    var deleted: [ManagedObjectID] = []
    var refreshed: Set<ManagedObjectID> = []

    var isDue: Bool { !touched.isEmpty || !deleted.isEmpty || !refreshed.isEmpty }
}
