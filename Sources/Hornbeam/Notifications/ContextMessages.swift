public import Foundation
internal import HornbeamModel

// The notifications as typed messages: `NotificationCenter.default.addObserver(of: context, for:
// ManagedObjectContext.DidSave.self) { message in … }`. Most contain IDs, which are `Sendable`. One contains objects: it is posted by the
// view context on the main actor.

extension ManagedObjectContext {
    /// Objects were inserted, changed, deleted or refreshed in memory (NOT-1).
    public struct ObjectsDidChange: ContextMessage {
        public typealias Subject = ManagedObjectContext
        public static var name: Notification.Name { RequestedName.didChangeObjects.forObserversOfMessages }
        /// The changed objects, as IDs.
        public let changes: ObjectChanges

        /// The message for a notification; nil if the notification has no changes.
        public static func makeMessage(_ notification: Notification) -> Self? {
            notification.objectChanges.map { Self(changes: $0) }
        }
    }

    /// A save begins (NOT-2).
    public struct WillSave: ContextMessage {
        public typealias Subject = ManagedObjectContext
        public static var name: Notification.Name { RequestedName.willSaveObjects.forObserversOfMessages }

        /// The message for a notification.
        public static func makeMessage(_ notification: Notification) -> Self? { Self() }
    }

    /// A save is durable (NOT-3, NOT-4).
    public struct DidSave: ContextMessage {
        public typealias Subject = ManagedObjectContext
        public static var name: Notification.Name { RequestedName.didSaveObjectIDs.forObserversOfMessages }
        /// The saved objects, as IDs.
        public let changes: ObjectChanges

        /// The message for a notification; nil if the notification has no changes.
        public static func makeMessage(_ notification: Notification) -> Self? {
            notification.objectChanges.map { Self(changes: $0) }
        }
    }

    /// Saves of other contexts were merged (NOT-5).
    public struct DidMergeChanges: ContextMessage {
        public typealias Subject = ManagedObjectContext
        public static var name: Notification.Name { RequestedName.didMergeChangesObjectIDs.forObserversOfMessages }
        /// The objects whose changes were merged, as IDs.
        public let changes: ObjectChanges

        /// The message for a notification; nil if the notification has no changes.
        public static func makeMessage(_ notification: Notification) -> Self? {
            notification.objectChanges.map { Self(changes: $0) }
        }
    }

    /// Changes in the view context, with the objects, for observers on the main actor (NOT-1).
    ///
    /// Contains only registered objects: those in use.
    public struct ViewObjectsDidChange: NotificationCenter.MainActorMessage {
        public typealias Subject = ManagedObjectContext
        /// The name under which the message is posted.
        public static var name: Notification.Name { RequestedName.didChangeViewObjects.forObservers }
        /// The objects that were inserted.
        public let inserted: Set<ManagedObject>
        /// The objects whose properties changed.
        public let updated: Set<ManagedObject>
        /// The objects that were deleted.
        public let deleted: Set<ManagedObject>
        /// The objects whose values were read again.
        public let refreshed: Set<ManagedObject>
        /// True if the context released all its objects.
        public let invalidatedAll: Bool
    }

    /// Notifies observers on the main actor.
    func postToMainActor(_ changes: ObjectChanges) {
        func objects(_ ids: Set<ManagedObjectID>) -> Set<ManagedObject> { Set(ids.compactMap(registeredObject)) }
        // Created and posted on the main actor, where the view context is used.
        nonisolated(unsafe) let message = ViewObjectsDidChange(
            inserted: objects(changes.inserted), updated: objects(changes.updated), deleted: objects(changes.deleted),
            refreshed: objects(changes.refreshed), invalidatedAll: changes.invalidatedAll)
        nonisolated(unsafe) let context = self  // stays on the main actor
        MainActor.assumeIsolated { unsafe NotificationCenter.default.post(message, subject: context) }
    }
}
