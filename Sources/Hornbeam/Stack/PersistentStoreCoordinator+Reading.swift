internal import HornbeamModel
internal import HornbeamStore

extension PersistentStoreCoordinator {
    /// Moves stores that were opened read-only to what other processes have saved since; true if there is anything
    /// (PSC-22).
    ///
    /// Of a save over several of them all parts are shown or none.
    ///
    /// A store opened with `isReadOnly` stays at one state until this is called, however much another process writes.
    /// Contexts follow at their next fetch or merge, as they do for saves of this process; what changed is found by
    /// comparing the objects that they hold. Costs the reading of what is new; almost nothing when nothing is.
    /// - Throws: `modelMismatch` when another process changed the store's model, and what keeps files from being read.
    public func refreshReadOnlyStores() throws -> Bool {
        try stack.refresh()
    }
}
