internal import HornbeamModel
internal import HornbeamStore

extension PersistentStoreCoordinator {
    /// Switches stores that were opened read-only to the newest saved state; true if any state is newer
    /// (PSC-22).
    ///
    /// A save over several of them is visible completely or not at all.
    ///
    /// A store opened with `isReadOnly` stays at one state until this call, regardless of another process's saves.
    /// Contexts merge the changes at their next fetch or merge, like saves of this process; they find the changes by
    /// comparing their objects. The cost is that of reading the new data, and almost zero without new data.
    /// - Throws: `modelMismatch` when another process changed the store's model; errors of reading files.
    public func refreshReadOnlyStores() throws -> Bool {
        try stack.refresh()
    }
}
