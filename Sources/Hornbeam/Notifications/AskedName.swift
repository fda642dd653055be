internal import Foundation

/// A name of notifications that knows whether anybody has asked for it.
///
/// A post takes a lock that all threads share and costs a tenth of a small save, whether anybody observes or not, and a
/// `NotificationCenter` cannot be asked who does. But nobody observes a name without having it, and it is had from here. So what nobody
/// has asked for by its name is neither made nor posted.
struct AskedName: Sendable {
    static let didChangeObjects = AskedName("HornbeamObjectsDidChange")
    static let willSaveObjects = AskedName("HornbeamContextWillSave")
    static let didSaveObjectIDs = AskedName("HornbeamContextDidSaveObjectIDs")
    static let didMergeChangesObjectIDs = AskedName("HornbeamContextDidMergeObjectIDs")
    static let didChangeViewObjects = AskedName("HornbeamViewObjectsDidChange")

    /// The name for whoever posts it.
    let name: Notification.Name
    private let wasAsked = Flag()
    private let wasAskedForMessages = Flag()

    init(_ text: String) { name = Notification.Name(text) }

    /// The name for whoever may want to observe it.
    var forObservers: Notification.Name {
        if !wasAsked.isRaised { _ = wasAsked.raise() }
        return name
    }

    /// The name for whoever may want to observe messages, or the notification that tells the same.
    var forObserversOfMessages: Notification.Name {
        if !wasAskedForMessages.isRaised { _ = wasAskedForMessages.raise() }
        return forObservers
    }

    /// True when somebody may observe it, so that it is to be posted.
    var isAsked: Bool { wasAsked.isRaised }

    /// True when it is to be posted as a message too. Apart, since where Foundation does not make messages of notifications by itself, a
    /// message ends the process if somebody observes all names.
    var isAskedForMessages: Bool { wasAskedForMessages.isRaised }
}
