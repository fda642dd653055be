/// The merged changes, for observers.
struct MergedChanges {
    var changes = ObjectChanges()
    /// The entities, by index, of changed objects that are not registered in the context. They may be results of later fetches. Nil if
    /// any object may have changed.
    var unlistedEntities: Set<Int32>? = []

    mutating func formUnion(_ other: MergedChanges) {
        changes.inserted.formUnion(other.changes.inserted)
        changes.refreshed.formUnion(other.changes.refreshed)
        changes.deleted.formUnion(other.changes.deleted)
        if let others = other.unlistedEntities { unlistedEntities?.formUnion(others) } else { unlistedEntities = nil }
    }
}
