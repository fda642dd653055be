internal import Foundation

/// A notification name that records whether it was requested.
///
/// A post takes a lock that all threads share and costs a tenth of a small save, even without observers, and a
/// `NotificationCenter` does not tell whether a name has observers. But an observer needs the name, which this type provides. So
/// notifications whose name was never requested are neither created nor posted.
struct AskedName: Sendable {
    static let didChangeObjects = AskedName("HornbeamObjectsDidChange")
    static let willSaveObjects = AskedName("HornbeamContextWillSave")
    static let didSaveObjectIDs = AskedName("HornbeamContextDidSaveObjectIDs")
    static let didMergeChangesObjectIDs = AskedName("HornbeamContextDidMergeObjectIDs")
    static let didChangeViewObjects = AskedName("HornbeamViewObjectsDidChange")

    /// The name, for posting.
    let name: Notification.Name
    private let wasAsked = Flag()
    private let wasAskedForMessages = Flag()

    init(_ text: String) { name = Notification.Name(text) }

    /// The name, for observers. Reading it records the request.
    var forObservers: Notification.Name {
        if !wasAsked.isRaised { _ = wasAsked.raise() }
        return name
    }

    /// The name, for observers of messages and of the equivalent notification. Reading it records both requests.
    var forObserversOfMessages: Notification.Name {
        if !wasAskedForMessages.isRaised { _ = wasAskedForMessages.raise() }
        return forObservers
    }

    /// True when there may be an observer, so that the notification must be posted.
    var isAsked: Bool { wasAsked.isRaised }

    /// True when it must be posted as a message too. Recorded separately, because a message ends the process if an observer observes all names
    /// and Foundation does not convert notifications into messages.
    var isAskedForMessages: Bool { wasAskedForMessages.isRaised }
}
