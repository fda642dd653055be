/// Objects of a querying store that another process has saved.
public struct ExternalChanges: Sendable {
    /// New and updated objects, and objects whose members changed.
    public var changed: [CustomStoreKey]
    /// Deleted objects.
    public var deleted: [CustomStoreKey]

    /// The objects of one or more saves.
    public init(changed: [CustomStoreKey] = [], deleted: [CustomStoreKey] = []) {
        self.changed = changed
        self.deleted = deleted
    }
}
