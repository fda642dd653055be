internal import HornbeamStore
internal import HornbeamThreads
internal import Synchronization

/// Commits announced to one context and not yet taken in. Filled by whoever commits, emptied by the context.
///
/// A context that sleeps long must not hoard: beyond `limit` objects the inbox keeps nothing but the fact
/// that much has changed, and the context compares all its objects when it wakes.
final class ChangeInbox: Sendable {
    /// What has arrived since the last time.
    struct Delivery {
        /// In commit order; empty when `isOverflowing`.
        var changes: [StoreChange] = []
        /// True when more arrived than was kept.
        var isOverflowing = false

        var isEmpty: Bool { changes.isEmpty && !isOverflowing }
    }

    private struct State {
        var delivery = Delivery()
        var objectCount = 0
        var alarm: (@Sendable () -> Void)?
    }

    private let limit: Int
    private let state = Guarded(State())
    /// So that a context that hears of nothing takes no lock to know.
    private let hasMail = Atomic(false)

    init(limit: Int = 65_536) { self.limit = limit }

    /// Sets what is called each time something arrives.
    func setAlarm(_ alarm: @escaping @Sendable () -> Void) {
        state.withLock { $0.alarm = alarm }
    }

    func append(_ change: StoreChange) {
        let alarm = state.withLock { state in
            state.objectCount += change.count + 1
            if state.objectCount > limit || change.isUnknown || state.delivery.isOverflowing {
                state.delivery = Delivery(changes: [], isOverflowing: true)
            } else {
                state.delivery.changes.append(change)
            }
            hasMail.store(true, ordering: .releasing)
            return state.alarm
        }
        alarm?()
    }

    /// More has changed than can be told.
    func overflow() {
        let alarm = state.withLock { state in
            state.delivery = Delivery(changes: [], isOverflowing: true)
            hasMail.store(true, ordering: .releasing)
            return state.alarm
        }
        alarm?()
    }

    /// True when nothing has arrived since the last time.
    var isEmpty: Bool { !hasMail.load(ordering: .acquiring) }

    /// What has arrived; the inbox is empty afterwards.
    func drain() -> Delivery {
        state.withLock { state in
            guard !state.delivery.isEmpty else { return Delivery() }
            defer {
                state.delivery = Delivery()
                state.objectCount = 0
                hasMail.store(false, ordering: .releasing)
            }
            return state.delivery
        }
    }
}
