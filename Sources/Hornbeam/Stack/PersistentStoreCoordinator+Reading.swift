internal import HornbeamModel
internal import HornbeamStore

extension PersistentStoreCoordinator {
    /// Switches stores that were opened read-only or shared to the newest saved state. Returns true if the state of a store is newer
    /// than before (PSC-22).
    ///
    /// A save over several of these stores becomes visible completely or not at all.
    ///
    /// A store opened with `isReadOnly` shows one state until this call, regardless of another process's saves.
    /// Contexts merge the changes at their next fetch or merge, like the saves of this process, but they find the changes by
    /// comparing all their objects. A store opened with `isShared` follows other processes by itself; after this call it shows all their saves that
    /// returned before the call. The call costs as much as reading the new data, and almost nothing without new data.
    /// - Throws: `modelMismatch` if another process changed the store's model; errors of reading files.
    public func refreshReadOnlyStores() throws -> Bool {
        try stack.refresh()
    }
}
