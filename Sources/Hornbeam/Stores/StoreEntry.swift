internal import HornbeamModel
internal import HornbeamStore

/// A store of a coordinator, with its description.
struct StoreEntry: Sendable {
    let store: PersistentStore
    let description: PersistentStoreDescription
    let lease: StoreLease
    private let observation: StoreObservation

    init(_ lease: StoreLease, _ description: PersistentStoreDescription, slot: StoreSlot, _ broadcast: ChangeBroadcast) {
        let store = lease.store
        self.store = PersistentStore(
            identifier: store.identifier, url: description.url, type: description.type,
            configurationName: description.configurationName, isReadOnly: store.isReadOnly || description.isReadOnly)
        self.description = description
        self.lease = lease
        observation = store.observe { [weak store] change in
            guard let store else { return }
            broadcast.publish(change.inSlot(slot), of: store)
        }
    }

    /// Ends the lease. The store is closed if no other lease of it exists.
    func end() throws {
        observation.cancel()
        try lease.end()
    }
}
