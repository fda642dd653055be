internal import Foundation
internal import HornbeamModel
internal import Synchronization

/// The thread of a batch insert that has the writer's turn of a store.
///
/// The handler that fills the rows runs on this thread, between two writes of the batch. Another change of the store on it would be a
/// deadlock: the change would wait for the batch, and the batch for the handler. Such a change is refused.
final class BatchThread: Sendable {
    private static let none: UInt = 0
    private let thread = Atomic(none)

    func begin() { thread.store(Self.current, ordering: .relaxed) }

    /// Can be called on any thread, after the last transaction of the batch.
    func end(_ batch: UInt) { _ = thread.compareExchange(expected: batch, desired: Self.none, ordering: .relaxed) }

    var isCurrent: Bool {
        let holder = thread.load(ordering: .relaxed)
        return holder != Self.none && holder == Self.current
    }

    /// A number that is unique among the running threads.
    static var current: UInt { UInt(pthread_self()) }
}

extension Store {
    /// - Throws: `unsupportedRequest` inside the handler of a batch insert into this store.
    package func requireOutsideBatchHandler() throws {
        guard batchThread.isCurrent else { return }
        throw HornbeamError(
            .unsupportedRequest,
            "The handler of a batch insert started another change of the same store, which would wait for the batch. Make the change "
                + "after the batch has ended.")
    }
}
