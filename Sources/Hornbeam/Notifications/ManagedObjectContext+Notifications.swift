public import Foundation
internal import HornbeamModel

// Foundation's notifications, with the names that Core Data's users know. They carry IDs only, in
// `userInfo[ManagedObjectContext.changesKey]` as one `ObjectChanges`; the object is the context, to be
// compared and nothing else by observers that live elsewhere. A name is posted once it was asked for, here or
// as a message's `name`.

extension ManagedObjectContext {
    /// Objects were inserted, changed, deleted or refreshed in memory (NOT-1).
    public static var didChangeObjectsNotification: Notification.Name { AskedName.didChangeObjects.forObservers }
    /// A save begins (NOT-2).
    public static var willSaveObjectsNotification: Notification.Name { AskedName.willSaveObjects.forObservers }
    /// A save is durable (NOT-3, NOT-4).
    public static var didSaveObjectIDsNotification: Notification.Name { AskedName.didSaveObjectIDs.forObservers }
    /// Saves of other contexts were taken in (NOT-5).
    public static var didMergeChangesObjectIDsNotification: Notification.Name {
        AskedName.didMergeChangesObjectIDs.forObservers
    }
    /// The key of the `ObjectChanges` in a notification's `userInfo`.
    public static let changesKey = "changes"

    /// Posts a message to both kinds of observers, those of notifications and those of messages, if there can be any.
    func post<Message: ContextMessage>(
        _ name: AskedName, _ message: @autoclosure () -> Message, _ changes: ObjectChanges? = nil
    ) {
        guard name.isAsked else { return }
        NotificationCenter.default.post(
            name: name.name, object: self, userInfo: changes.map { [Self.changesKey: $0] })
        #if !canImport(Darwin)
        // Where Foundation does not make messages of notifications by itself.
        if name.isAskedForMessages { NotificationCenter.default.post(message(), subject: self) }
        #endif
    }

    /// True when somebody may want to know what happens in memory.
    var hasListeners: Bool {
        AskedName.didChangeObjects.isAsked || !observers.listeners.isEmpty || !observers.mailboxes.isEmpty
            || role.isViewContext && AskedName.didChangeViewObjects.isAsked
    }

    /// Tells observers what happened in memory.
    func postObjectsDidChange(_ changes: ObjectChanges, keys: () -> [ManagedObjectID: Set<String>] = { [:] }) {
        if changes.isEmpty { return }
        post(.didChangeObjects, ObjectsDidChange(changes: changes), changes)
        if role.isViewContext, AskedName.didChangeViewObjects.isAsked { postToMainActor(changes) }
        tellListeners(changes)
        guard !observers.mailboxes.isEmpty else { return }
        observers.mailboxes.removeAll { $0.mailbox == nil }
        var changes = changes
        changes.changedKeys = keys()
        for mailbox in observers.mailboxes { mailbox.mailbox?.deliver(0, count: changes.count) { changes } }
    }

    /// Tells those who keep results of fetches; also of nothing in particular, when what changed is not here and may be found now.
    func tellListeners(_ changes: ObjectChanges) {
        guard !observers.listeners.isEmpty else { return }
        let told = observers.listeners
        observers.listeners = []
        observers.listeners = told.filter { $0(changes) } + observers.listeners
    }

    /// Tells observers what happened to objects here.
    func postObjectsDidChange(_ event: PendingEvent) {
        guard hasListeners else { return }
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
        observers.mailboxes.append(WeakMailbox(mailbox: mailbox))
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
