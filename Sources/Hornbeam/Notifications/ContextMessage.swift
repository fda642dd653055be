public import Foundation

/// A message about a context, for observers in any isolation.
///
/// The library posts messages of a type only after a program has read the `name` of that type. The functions `addObserver` and `messages` of
/// the library read it. Code that is generic over `AsyncMessage` calls Foundation's functions instead, and must read `name` first.
public protocol ContextMessage: NotificationCenter.AsyncMessage where Subject == ManagedObjectContext {
    /// The name of the equivalent notification. Reading it makes the library post both.
    static var name: Notification.Name { get }
}

extension NotificationCenter {
    /// Adds an observer of a message type of one context, or of all contexts. Replaces Foundation's function.
    ///
    /// - Returns: A token; the observation ends when it is released.
    public func addObserver<Message: ContextMessage>(
        of subject: ManagedObjectContext? = nil, for messageType: Message.Type,
        using observer: @escaping @Sendable (Message) async -> Void
    ) -> ObservationToken {
        _ = Message.name
        return addFoundationObserver(of: subject, observer)
    }

    /// Adds an observer of messages of the view context. Replaces Foundation's function.
    ///
    /// - Returns: A token; the observation ends when it is released.
    public func addObserver(
        of subject: ManagedObjectContext? = nil, for messageType: ManagedObjectContext.ViewObjectsDidChange.Type,
        using observer: @escaping @MainActor (ManagedObjectContext.ViewObjectsDidChange) -> Void
    ) -> ObservationToken {
        _ = ManagedObjectContext.ViewObjectsDidChange.name
        return addFoundationObserver(of: subject, observer)
    }

    /// A sequence of messages of one context, or of all contexts. Replaces Foundation's function.
    ///
    /// - Parameter limit: The maximum number of waiting messages; above it, the oldest are dropped.
    public func messages<Message: ContextMessage>(
        of subject: ManagedObjectContext? = nil, for messageType: Message.Type, bufferSize limit: Int = 10
    ) -> some AsyncSequence<Message, Never> & Sendable {
        _ = Message.name
        return foundationMessages(of: subject, messageType, limit)
    }

    // In these functions, `Message` is not constrained to `ContextMessage`, so the calls resolve to Foundation's functions.

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
