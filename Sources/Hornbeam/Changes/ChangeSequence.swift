internal import HornbeamThreads

/// An asynchronous sequence of changes: IDs of objects, and the names of changed properties.
///
/// While the reader is busy, later changes are combined into one element, in which an object occurs once. If an element
/// would have more than 65,536 objects, it has no IDs, and `invalidatedAll` is true: read all data again. A sequence has one reader.
public struct ChangeSequence: AsyncSequence, Sendable {
    public typealias Element = ObjectChanges
    public typealias Failure = Never

    private let subscriber: ChangeSubscriber

    init(_ subscriber: ChangeSubscriber) { self.subscriber = subscriber }

    public func makeAsyncIterator() -> Iterator { Iterator(subscriber: subscriber, wakeUps: subscriber.wakeUps.makeAsyncIterator()) }

    /// Waits for the next changes. The iteration ends when the store is closed or the task is cancelled.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let subscriber: ChangeSubscriber
        fileprivate var wakeUps: AsyncStream<Void>.Iterator

        public mutating func next() async -> ObjectChanges? { await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> ObjectChanges? {
            while true {
                if let changes = subscriber.dequeue() { return changes }
                guard await wakeUps.next(isolation: actor) != nil else { return subscriber.dequeue() }
            }
        }
    }
}

/// The subscriber of a change sequence: combines the changes that the sequence has not read yet.
final class ChangeSubscriber: Sendable {
    private let limit: Int
    private let waiting = Guarded<ObjectChanges?>(nil)
    let wakeUps: AsyncStream<Void>
    private let wakeUpContinuation: AsyncStream<Void>.Continuation

    init(limit: Int = 65_536) {
        self.limit = limit
        (wakeUps, wakeUpContinuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// - Parameter count: The number of objects in `changes`; if unknown, the largest integer. If the limit is exceeded, `changes` is
    ///   not called.
    func receive(_ transaction: UInt64, count: Int, _ changes: () -> ObjectChanges) {
        waiting.withLock { waiting in
            let isTooMuch = count > limit - (waiting?.count ?? 0) || waiting?.invalidatedAll == true && count > 0
            let new = isTooMuch ? ObjectChanges(invalidatedAll: true, transaction: transaction) : changes()
            if isTooMuch || waiting == nil { waiting = new } else { waiting?.append(new) }
        }
        wakeUpContinuation.yield()
    }

    /// Returns the waiting changes and removes them; nil if no change remains, as after an insertion and a deletion of the same object.
    func dequeue() -> ObjectChanges? {
        waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting?.isEmpty == false ? waiting : nil
        }
    }

    /// Ends the sequence after its reader has received the waiting changes.
    func finish() { wakeUpContinuation.finish() }
}

/// A weak reference to a subscriber. The reader of the sequence owns the subscriber.
struct WeakSubscriber {
    weak var subscriber: ChangeSubscriber?
}
