internal import Foundation

/// A notification name that records whether a program has read it.
///
/// A post takes a lock that all threads share, and costs a tenth of a small save even without observers. A
/// `NotificationCenter` does not report whether a name has observers. But an observer needs the name, and reads it here. So a
/// notification is neither created nor posted before its name was read.
struct RequestedName: Sendable {
    static let didChangeObjects = RequestedName("HornbeamObjectsDidChange")
    static let willSaveObjects = RequestedName("HornbeamContextWillSave")
    static let didSaveObjectIDs = RequestedName("HornbeamContextDidSaveObjectIDs")
    static let didMergeChangesObjectIDs = RequestedName("HornbeamContextDidMergeObjectIDs")
    static let didChangeViewObjects = RequestedName("HornbeamViewObjectsDidChange")

    /// The name, for the library's own posts. Reading it records nothing.
    let name: Notification.Name
    private let wasRequested = Flag()
    private let wasRequestedForMessages = Flag()

    init(_ text: String) { name = Notification.Name(text) }

    /// The name, for observers. Reading it records that there may be an observer.
    var forObservers: Notification.Name {
        if !wasRequested.isRaised { _ = wasRequested.raise() }
        return name
    }

    /// The name, for observers of messages and of the equivalent notification. Reading it records both.
    var forObserversOfMessages: Notification.Name {
        if !wasRequestedForMessages.isRaised { _ = wasRequestedForMessages.raise() }
        return forObservers
    }

    /// True if there may be an observer, so the notification must be posted.
    var isRequested: Bool { wasRequested.isRaised }

    /// True if there may be an observer of the message, so the message must be posted. Recorded separately: where Foundation does not convert
    /// notifications into messages, a posted message ends the process if an observer observes all names.
    var isRequestedForMessages: Bool { wasRequestedForMessages.isRaised }
}
