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

    /// Posts a message to both kinds of observers: those of notifications and those of messages.
    func post<Message: NotificationCenter.AsyncMessage>(
        _ name: Notification.Name, _ message: Message, _ changes: ObjectChanges? = nil
    ) where Message.Subject == ManagedObjectContext {
        NotificationCenter.default.post(
            name: name, object: self, userInfo: changes.map { [Self.changesKey: $0] })
        #if !canImport(Darwin)
        // Where Foundation does not make messages of notifications by itself.
        NotificationCenter.default.post(message, subject: self)
        #endif
    }

    /// Tells observers what happened in memory.
    func postObjectsDidChange(_ changes: ObjectChanges, keys: () -> [ManagedObjectID: Set<String>] = { [:] }) {
        if changes.isEmpty { return }
        post(ObjectsDidChange.name, ObjectsDidChange(changes: changes), changes)
        if isViewContext { postToMainActor(changes) }
        tellListeners(changes)
        guard !mailboxes.isEmpty else { return }
        mailboxes.removeAll { $0.mailbox == nil }
        var changes = changes
        changes.changedKeys = keys()
        for mailbox in mailboxes { mailbox.mailbox?.deliver(0, count: changes.count) { changes } }
    }

    /// Tells those who keep results of fetches; also of nothing in particular, when what changed is not here and may be found now.
    func tellListeners(_ changes: ObjectChanges) {
        let told = listeners
        listeners = []
        listeners = told.filter { $0(changes) } + listeners
    }

    /// Tells observers what happened to objects here.
    func postObjectsDidChange(_ event: PendingEvent) {
        let (changes, updated) = event.outcome
        postObjectsDidChange(changes) {
            Dictionary(updated.map { ($0.objectID, $0.keysChangedInEvent) }, uniquingKeysWith: { first, _ in first })
        }
    }

    /// What changes in this context's memory from now on, saved or not, as IDs and changed keys (NOT-1).
    ///
    /// Told when changes are processed: at the end of `perform`, before fetches, counts and saves. May be walked anywhere.
    public func changes() -> ChangeSequence {
        let mailbox = ChangeMailbox()
        mailboxes.append(WeakMailbox(mailbox: mailbox))
        return ChangeSequence(mailbox)
    }
}

extension ManagedObject {
    fileprivate final var keysChangedInEvent: Set<String> {
        record.map { Set($0.changedInEvent.map { scope.properties[$0].name }) } ?? []
    }
}

extension Notification {
    /// The IDs that a context's notification carries; nil for other notifications.
    public var objectChanges: ObjectChanges? {
        userInfo?[ManagedObjectContext.changesKey] as? ObjectChanges
    }
}
