public import Foundation

/// A message about a context, for observers wherever they are.
///
/// Messages are made and posted once somebody has asked for one of their kind, which `addObserver` and `messages` below do. Where
/// Foundation's own are reached, from code that is generic over `AsyncMessage`, ask for the `name` first.
public protocol ContextMessage: NotificationCenter.AsyncMessage where Subject == ManagedObjectContext {
    /// The name of the notification that tells the same; reading it asks for both.
    static var name: Notification.Name { get }
}

extension NotificationCenter {
    /// Adds an observer of a kind of messages of one context, or of all contexts; as Foundation's, which it takes the place of.
    ///
    /// - Returns: What the observation lives as long as.
    public func addObserver<Message: ContextMessage>(
        of subject: ManagedObjectContext? = nil, for messageType: Message.Type,
        using observer: @escaping @Sendable (Message) async -> Void
    ) -> ObservationToken {
        _ = Message.name
        return addFoundationObserver(of: subject, observer)
    }

    /// Adds an observer of what happens in the view context; as Foundation's, which it takes the place of.
    ///
    /// - Returns: What the observation lives as long as.
    public func addObserver(
        of subject: ManagedObjectContext? = nil, for messageType: ManagedObjectContext.ViewObjectsDidChange.Type,
        using observer: @escaping @MainActor (ManagedObjectContext.ViewObjectsDidChange) -> Void
    ) -> ObservationToken {
        _ = ManagedObjectContext.ViewObjectsDidChange.name
        return addFoundationObserver(of: subject, observer)
    }

    /// A kind of messages of one context, or of all contexts, as they come; as Foundation's, which it takes the place of.
    ///
    /// - Parameter limit: The messages that may wait; of more the oldest are dropped.
    public func messages<Message: ContextMessage>(
        of subject: ManagedObjectContext? = nil, for messageType: Message.Type, bufferSize limit: Int = 10
    ) -> some AsyncSequence<Message, Never> & Sendable {
        _ = Message.name
        return foundationMessages(of: subject, messageType, limit)
    }

    // Here a message is no `ContextMessage`, so that Foundation's functions are meant.

    private func addFoundationObserver<Message: AsyncMessage>(
        of subject: Message.Subject?, _ observer: @escaping @Sendable (Message) async -> Void
    ) -> ObservationToken where Message.Subject: AnyObject {
        addObserver(of: subject, for: Message.self, using: observer)
    }

    private func addFoundationObserver<Message: MainActorMessage>(
        of subject: Message.Subject?, _ observer: @escaping @MainActor (Message) -> Void
    ) -> ObservationToken where Message.Subject: AnyObject {
        addObserver(of: subject, for: Message.self, using: observer)
    }

    private func foundationMessages<Message: AsyncMessage>(
        of subject: Message.Subject?, _ type: Message.Type, _ limit: Int
    ) -> some AsyncSequence<Message, Never> & Sendable where Message.Subject: AnyObject {
        messages(of: subject, for: type, bufferSize: limit)
    }
}
