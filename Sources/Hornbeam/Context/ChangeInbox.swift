internal import HornbeamStore
internal import Synchronization

/// A context's place among the commits that were announced: what lies behind it was not taken in yet.
final class ChangeInbox: Sendable {
    /// What has arrived since the last time.
    struct Delivery {
        /// In commit order, without the context's own; empty when `isOverflowing`.
        var changes: [StoreChange] = []
        /// True when more arrived than was kept.
        var isOverflowing = false

        var isEmpty: Bool { changes.isEmpty && !isOverflowing }
    }

    /// The place of one that has missed something.
    private static let nowhere = UInt64.max

    /// The context whose own commits do not arrive.
    let owner: UInt64
    private let broadcast: ChangeBroadcast
    private let position: Atomic<UInt64>

    /// Begins with the next commit. To be given to the broadcast's `subscribe`.
    init(_ broadcast: ChangeBroadcast, owner: UInt64) {
        self.broadcast = broadcast
        self.owner = owner
        position = Atomic(broadcast.end)
    }

    /// The number of the next commit to be taken in.
    var place: UInt64 { position.load(ordering: .acquiring) }

    func move(to place: UInt64) { position.store(place, ordering: .releasing) }

    /// True when nothing has arrived since the last time. Takes no lock.
    var isEmpty: Bool { place == broadcast.end }

    /// What has arrived; the inbox is empty afterwards.
    func drain() -> Delivery { isEmpty ? Delivery() : broadcast.drain(self) }

    /// Lets everything go that has arrived. Takes no lock.
    func skip() { move(to: broadcast.end) }

    /// More has changed than can be told.
    func overflow() { move(to: Self.nowhere) }

    /// Sets what is called each time something arrives.
    func setAlarm(_ alarm: @escaping @Sendable () -> Void) { broadcast.setAlarm(alarm, for: owner) }
}
