/// The merged changes, for observers.
struct MergedChanges {
    var changes = ObjectChanges()
    /// True when objects changed that the context does not have; they may be results of later fetches.
    var isElsewhere = false

    mutating func formUnion(_ other: MergedChanges) {
        changes.inserted.formUnion(other.changes.inserted)
        changes.refreshed.formUnion(other.changes.refreshed)
        changes.deleted.formUnion(other.changes.deleted)
        isElsewhere = isElsewhere || other.isElsewhere
    }
}
