public import Foundation
internal import HornbeamModel

// Foundation notifications with Core Data's names. They contain IDs only: one `ObjectChanges` in
// `userInfo[ManagedObjectContext.changesKey]`. Their object is the context; observers in another
// isolation may only compare it. A notification is posted only after its name was read, here or
// as a message's `name`.

extension ManagedObjectContext {
    /// Objects were inserted, changed, deleted or refreshed in memory (NOT-1).
    public static var didChangeObjectsNotification: Notification.Name { RequestedName.didChangeObjects.forObservers }
    /// A save begins (NOT-2).
    public static var willSaveObjectsNotification: Notification.Name { RequestedName.willSaveObjects.forObservers }
    /// A save is durable (NOT-3, NOT-4).
    public static var didSaveObjectIDsNotification: Notification.Name { RequestedName.didSaveObjectIDs.forObservers }
    /// Saves of other contexts were merged (NOT-5).
    public static var didMergeChangesObjectIDsNotification: Notification.Name {
        RequestedName.didMergeChangesObjectIDs.forObservers
    }
    /// The key of the `ObjectChanges` in a notification's `userInfo`.
    public static let changesKey = "changes"

    /// Posts a message to observers of notifications and of messages, if there may be any.
    func post<Message: ContextMessage>(
        _ name: RequestedName, _ message: @autoclosure () -> Message, _ changes: ObjectChanges? = nil
    ) {
        guard name.isRequested else { return }
        NotificationCenter.default.post(
            name: name.name, object: self, userInfo: changes.map { [Self.changesKey: $0] })
        #if !canImport(Darwin)
        // For Foundation versions that do not convert notifications into messages.
        if name.isRequestedForMessages { NotificationCenter.default.post(message(), subject: self) }
        #endif
    }

    /// True if there may be an observer of changes in memory.
    var hasListeners: Bool {
        RequestedName.didChangeObjects.isRequested || !observers.isEmpty
            || role.isViewContext && RequestedName.didChangeViewObjects.isRequested
    }

    /// Notifies observers of changes in memory.
    func postObjectsDidChange(
        _ changes: ObjectChanges, unlisted: Set<Int32>? = nil, keys: () -> [ManagedObjectID: Set<String>] = { [:] }
    ) {
        if changes.isEmpty { return }
        post(.didChangeObjects, ObjectsDidChange(changes: changes), changes)
        if role.isViewContext, RequestedName.didChangeViewObjects.isRequested { postToMainActor(changes) }
        notifyListeners(changes, unlisted: unlisted)
        guard !observers.subscribers.isEmpty else { return }
        observers.subscribers.removeAll { $0.subscriber == nil }
        var changes = changes
        changes.changedKeys = keys()
        for subscriber in observers.subscribers { subscriber.subscriber?.receive(0, count: changes.count) { changes } }
    }

    /// Notifies fetched results. `changes` is empty if objects changed that are not registered in the context, and that a fetch may find now.
    ///
    /// - Parameter unlisted: See `ContextEvent.unlistedEntities`.
    func notifyListeners(_ changes: ObjectChanges, unlisted: Set<Int32>? = nil) {
        guard !observers.listeners.isEmpty || observers.isNotifying else { return }
        observers.queue.append(ContextEvent(changes: changes, unlistedEntities: observers.hasUnlistedChanges ? nil : unlisted))
        observers.hasUnlistedChanges = false
        // A listener may fetch or save, which calls this function again. The new changes wait until all listeners have received these.
        guard !observers.isNotifying else { return }
        observers.isNotifying = true
        defer { observers.isNotifying = false }
        while !observers.queue.isEmpty {
            let next = observers.queue.removeFirst()
            let notified = observers.listeners
            observers.listeners = []
            observers.listeners = notified.filter { $0(next) } + observers.listeners
        }
    }

    /// Notifies observers of the changes of an event.
    func postObjectsDidChange(_ event: PendingEvent) {
        guard hasListeners else { return }
        let (changes, updated) = event.outcome
        postObjectsDidChange(changes, unlisted: []) {
            Dictionary(updated.map { ($0.objectID, $0.keysChangedInEvent) }, uniquingKeysWith: { first, _ in first })
        }
    }

    /// The changes in this context's memory from now on, saved or not: IDs and changed keys (NOT-1).
    ///
    /// Published when pending changes are processed: at the end of `perform`, and before fetches, counts and saves. The sequence can be iterated in
    /// any isolation.
    public func changes() -> ChangeSequence {
        let subscriber = ChangeSubscriber()
        observers.subscribers.append(WeakSubscriber(subscriber: subscriber))
        return ChangeSequence(subscriber)
    }
}

extension ManagedObject {
    fileprivate final var keysChangedInEvent: Set<String> {
        record.map { Set($0.changedInEvent.map { scope.properties[$0].name }) } ?? []
    }
}

extension Notification {
    /// The IDs in a context's notification; nil for other notifications.
    public var objectChanges: ObjectChanges? {
        userInfo?[ManagedObjectContext.changesKey] as? ObjectChanges
    }
}
