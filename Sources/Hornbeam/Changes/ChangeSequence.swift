internal import HornbeamThreads

/// An asynchronous sequence of changes, as IDs and changed keys.
///
/// Bounded: changes that happen while the reader is busy are combined into one element, in which an object occurs once. When
/// more than 65,536 objects are waiting, their IDs are replaced by `invalidatedAll`: read all data again. For one reader.
public struct ChangeSequence: AsyncSequence, Sendable {
    public typealias Element = ObjectChanges
    public typealias Failure = Never

    private let mailbox: ChangeMailbox

    init(_ mailbox: ChangeMailbox) { self.mailbox = mailbox }

    public func makeAsyncIterator() -> Iterator { Iterator(mailbox: mailbox, bell: mailbox.bell.makeAsyncIterator()) }

    /// Waits for the next changes; ends when the store is closed, and when the task is cancelled.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let mailbox: ChangeMailbox
        fileprivate var bell: AsyncStream<Void>.Iterator

        public mutating func next() async -> ObjectChanges? { await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> ObjectChanges? {
            while true {
                if let changes = mailbox.take() { return changes }
                guard await bell.next(isolation: actor) != nil else { return mailbox.take() }
            }
        }
    }
}

/// Combines the changes that wait for the reader of one sequence.
final class ChangeMailbox: Sendable {
    private let limit: Int
    private let waiting = Guarded<ObjectChanges?>(nil)
    let bell: AsyncStream<Void>
    private let rope: AsyncStream<Void>.Continuation

    init(limit: Int = 65_536) {
        self.limit = limit
        (bell, rope) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// - Parameter count: The number of objects in `changes`, or the largest number if it is not known; above the limit, `changes` is not
    ///   evaluated.
    func deliver(_ transaction: UInt64, count: Int, _ changes: () -> ObjectChanges) {
        waiting.withLock { waiting in
            let isTooMuch = count > limit - (waiting?.count ?? 0) || waiting?.invalidatedAll == true && count > 0
            let new = isTooMuch ? ObjectChanges(invalidatedAll: true, transaction: transaction) : changes()
            if isTooMuch || waiting == nil { waiting = new } else { waiting?.append(new) }
        }
        rope.yield()
    }

    /// The waiting changes; nil if they cancel each other out.
    func take() -> ObjectChanges? {
        waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting?.isEmpty == false ? waiting : nil
        }
    }

    /// Ends the sequence after the waiting changes are read.
    func finish() { rope.finish() }
}

/// A weak reference to a mailbox, which exists while a reader exists.
struct WeakMailbox {
    weak var mailbox: ChangeMailbox?
}
