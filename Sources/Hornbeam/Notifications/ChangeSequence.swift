internal import HornbeamThreads

/// Changes as they happen, as IDs and changed keys: what `for await` walks.
///
/// Bounded and never behind: what happens while the reader is busy waits as one element, in which an object occurs once. When
/// more than 65,536 objects wait, their IDs are dropped for `invalidatedAll`, which says: look at everything anew. For one reader.
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

/// Where changes wait for the reader of one sequence, put together.
final class ChangeMailbox: Sendable {
    private let limit: Int
    private let waiting = Guarded<ObjectChanges?>(nil)
    let bell: AsyncStream<Void>
    private let rope: AsyncStream<Void>.Continuation

    init(limit: Int = 65_536) {
        self.limit = limit
        (bell, rope) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// - Parameter count: The objects that `changes` names, or the largest number when that is not known; beyond the limit it is not even
    ///   made.
    func deliver(_ transaction: UInt64, count: Int, _ changes: () -> ObjectChanges) {
        waiting.withLock { waiting in
            let isTooMuch = count > limit - (waiting?.count ?? 0) || waiting?.invalidatedAll == true && count > 0
            let new = isTooMuch ? ObjectChanges(invalidatedAll: true, transaction: transaction) : changes()
            if isTooMuch || waiting == nil { waiting = new } else { waiting?.append(new) }
        }
        rope.yield()
    }

    /// What waits, unless it came to nothing.
    func take() -> ObjectChanges? {
        waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting?.isEmpty == false ? waiting : nil
        }
    }

    /// Ends the sequence once what waits was taken.
    func finish() { rope.finish() }
}

/// A mailbox for as long as somebody can read it.
struct WeakMailbox {
    weak var mailbox: ChangeMailbox?
}
