public import Foundation
internal import HornbeamModel

// Foundation's notifications, with the names that Core Data's users know. They carry IDs only, in
// `userInfo[ManagedObjectContext.changesKey]` as one `ObjectChanges`; the object is the context, to be
// compared and nothing else by observers that live elsewhere.

extension ManagedObjectContext {
    /// Objects were inserted, changed, deleted or refreshed in memory (NOT-1).
    public static let didChangeObjectsNotification = Notification.Name("HornbeamObjectsDidChange")
    /// A save begins (NOT-2).
    public static let willSaveObjectsNotification = Notification.Name("HornbeamContextWillSave")
    /// A save is durable (NOT-3, NOT-4).
    public static let didSaveObjectIDsNotification = Notification.Name("HornbeamContextDidSaveObjectIDs")
    /// Saves of other contexts were taken in (NOT-5).
    public static let didMergeChangesObjectIDsNotification = Notification.Name("HornbeamContextDidMergeObjectIDs")
    /// The key of the `ObjectChanges` in a notification's `userInfo`.
    public static let changesKey = "changes"

    func post(_ name: Notification.Name, _ changes: ObjectChanges? = nil) {
        NotificationCenter.default.post(
            name: name, object: self, userInfo: changes.map { [Self.changesKey: $0] })
    }

    /// Tells observers what happened in memory.
    func postObjectsDidChange(_ event: PendingEvent) {
        var changes = ObjectChanges()
        changes.inserted = Set(event.inserted.filter(\.isInserted).map(\.objectID))
        changes.deleted = Set(event.deleted)
        changes.refreshed = event.refreshed
        for object in event.touched where object.isUpdated && object.record?.changedInEvent.isEmpty == false {
            changes.updated.insert(object.objectID)
        }
        if !changes.isEmpty { post(Self.didChangeObjectsNotification, changes) }
    }
}

extension Notification {
    /// The IDs that a context's notification carries; nil for other notifications.
    public var objectChanges: ObjectChanges? {
        userInfo?[ManagedObjectContext.changesKey] as? ObjectChanges
    }
}
