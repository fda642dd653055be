internal import HornbeamStore
internal import Synchronization

/// The change queue of a context: its position in the change log. The context has not merged the commits from this position on.
final class ChangeQueue: Sendable {
    /// The commits since the last read.
    struct Delivery {
        /// In commit order, without the context's own commits; empty if `isOverflowing`.
        var changes: [StoreChange] = []
        /// True if the change log no longer contains all commits since the last read.
        var isOverflowing = false

        var isEmpty: Bool { changes.isEmpty && !isOverflowing }
    }

    /// The position of a context that needs commits which the log no longer contains.
    private static let missedCommits = UInt64.max

    /// The context whose own commits are skipped.
    let owner: UInt64
    private let broadcast: ChangeBroadcast
    private let position: Atomic<UInt64>

    /// A queue that starts with the next commit. Pass it to the broadcast's `subscribe`.
    init(_ broadcast: ChangeBroadcast, owner: UInt64) {
        self.broadcast = broadcast
        self.owner = owner
        position = Atomic(broadcast.end)
    }

    /// The number of the next commit to merge.
    var place: UInt64 { position.load(ordering: .acquiring) }

    func move(to place: UInt64) { position.store(place, ordering: .releasing) }

    /// True if there are no new commits. Takes no lock.
    var isEmpty: Bool { place == broadcast.end }

    /// Returns the new commits; afterwards the queue is empty.
    func drain() -> Delivery { isEmpty ? Delivery() : broadcast.drain(self) }

    /// Moves past all new commits without returning them. Takes no lock.
    func skip() { move(to: broadcast.end) }

    /// Marks the queue as incomplete, so that the next merge compares all objects.
    func overflow() { move(to: Self.missedCommits) }

    /// Sets a closure that is called for each new commit.
    func setCommitHandler(_ handler: @escaping @Sendable () -> Void) { broadcast.setCommitHandler(handler, for: owner) }
}
