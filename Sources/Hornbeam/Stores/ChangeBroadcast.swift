internal import HornbeamStore
internal import HornbeamThreads
internal import Synchronization

/// Stores each commit until all contexts have merged it, and delivers it to change sequences.
///
/// A commit is stored once, in a log that all contexts share, so its cost does not depend on the number of contexts. The change queue of a
/// context is a position in the log. The log has a limit: the newest commits with at most `limit` objects. If the position of a context is
/// before these, its next merge compares all its objects with the store.
final class ChangeBroadcast: Sendable {
    private struct State {
        var log: ChangeLog
        var queues: [UInt64: ChangeQueue] = [:]
        var commitHandlers: [(owner: UInt64, body: @Sendable () -> Void)] = []
        var subscribers: [WeakSubscriber] = []
        /// When the log has this weight, `trim` removes the commits that all contexts have merged.
        var trimWeight = State.trimWeightMin

        /// A log with a smaller weight is not trimmed.
        static let trimWeightMin = 256

        /// Removes the commits that all contexts have merged.
        mutating func trim() {
            // A context whose position is before the log compares all its objects, and needs no part of the log.
            log.drop(before: queues.values.reduce(.max) { $1.place < log.start ? $0 : min($0, $1.place) })
            trimWeight = min(max(log.weight * 2, Self.trimWeightMin), max(log.limit / 2, 1))
        }

        /// Trims the log if its slowest reader was at `place`.
        mutating func trim(behind place: UInt64) {
            if queues.isEmpty || place <= log.start && log.weight >= Self.trimWeightMin { trim() }
        }
    }

    private let state: Guarded<State>
    private let logEnd = Atomic<UInt64>(0)

    init(limit: Int = 65_536) { state = Guarded(State(log: ChangeLog(limit: limit))) }

    /// The number of the next commit.
    var end: UInt64 { logEnd.load(ordering: .acquiring) }

    /// The number of commits in the log, plus the number of objects in them.
    var weight: Int { state.withLock { $0.log.weight } }

    // MARK: Contexts

    func subscribe(_ changeQueue: ChangeQueue) {
        state.withLock { state in
            changeQueue.move(to: state.log.end)
            state.queues[changeQueue.owner] = changeQueue
        }
    }

    func unsubscribe(_ changeQueue: ChangeQueue) {
        state.withLock { state in
            state.queues[changeQueue.owner] = nil
            if !state.commitHandlers.isEmpty { state.commitHandlers.removeAll { $0.owner == changeQueue.owner } }
            state.trim(behind: changeQueue.place)
        }
    }

    func setCommitHandler(_ handler: @escaping @Sendable () -> Void, for owner: UInt64) {
        state.withLock { state in
            state.commitHandlers.removeAll { $0.owner == owner }
            state.commitHandlers.append((owner, handler))
        }
    }

    func drain(_ changeQueue: ChangeQueue) -> ChangeQueue.Delivery {
        state.withLock { state in
            let place = changeQueue.place
            // Filtered before the log is trimmed: trimming would copy the log while a slice of it exists.
            let changes = state.log.changes(from: place)?.filter { $0.originator != changeQueue.owner }
            changeQueue.move(to: state.log.end)
            state.trim(behind: place)
            return changes.map { ChangeQueue.Delivery(changes: $0) } ?? ChangeQueue.Delivery(isOverflowing: true)
        }
    }

    // MARK: Commits

    /// Publishes a commit.
    func publish(_ change: StoreChange, of store: Store) {
        let (commitHandlers, subscribers) = state.withLock { state in
            logCommit(change, in: &state)
            if !state.subscribers.isEmpty { state.subscribers.removeAll { $0.subscriber == nil } }
            return (state.commitHandlers, state.subscribers)
        }
        for handler in commitHandlers where handler.owner != change.originator { handler.body() }
        guard !subscribers.isEmpty, change.isUnknown || !change.isEmpty else { return }
        let count = change.isUnknown ? .max : change.count
        for subscriber in subscribers {
            subscriber.subscriber?.receive(change.transaction, count: count) { ObjectChanges(change, of: store) }
        }
    }

    /// Appends a commit to the log, if there are contexts other than the saving one.
    private func logCommit(_ change: StoreChange, in state: inout State) {
        let own = state.queues[change.originator]
        guard state.queues.count > (own == nil ? 0 : 1) else { return }
        // The saving context waits for this call. It does not merge its own commit, so its position moves past the commit.
        let isUpToDate = own?.place == state.log.end
        state.log.append(change.forContexts)
        if isUpToDate { own?.move(to: state.log.end) }
        if state.log.weight >= state.trimWeight { state.trim() }
        logEnd.store(state.log.end, ordering: .releasing)
    }

    /// Makes all contexts compare all their objects with the stores. Called when the stores may have lost published commits.
    func publishUnknownState() {
        let commitHandlers = state.withLock { state in
            state.log.forget()
            logEnd.store(state.log.end, ordering: .releasing)
            return state.commitHandlers
        }
        for handler in commitHandlers { handler.body() }
    }

    // MARK: Sequences

    /// A sequence of the commits from now on.
    func sequence() -> ChangeSequence {
        let subscriber = ChangeSubscriber()
        state.withLock { $0.subscribers.append(WeakSubscriber(subscriber: subscriber)) }
        return ChangeSequence(subscriber)
    }

    /// Ends all sequences. Called when the coordinator is closed.
    func finish() {
        let subscribers = state.withLock { state in
            defer { state.subscribers = [] }
            return state.subscribers
        }
        for subscriber in subscribers { subscriber.subscriber?.finish() }
    }
}
