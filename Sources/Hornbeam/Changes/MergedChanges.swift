/// The merged changes, for observers.
struct MergedChanges {
    var changes = ObjectChanges()
    /// True if objects changed that are not registered in the context. They may be results of later fetches.
    var includesUnregistered = false

    mutating func formUnion(_ other: MergedChanges) {
        changes.inserted.formUnion(other.changes.inserted)
        changes.refreshed.formUnion(other.changes.refreshed)
        changes.deleted.formUnion(other.changes.deleted)
        includesUnregistered = includesUnregistered || other.includesUnregistered
    }
}
