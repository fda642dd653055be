internal import HornbeamStore
internal import HornbeamThreads
internal import Synchronization

/// Keeps each commit until all contexts have taken it in, and hands it to the sequences of changes.
///
/// A commit is kept once, and costs the same however many contexts there are: an inbox is a place in the common log. A context that
/// sleeps long must not hoard: of what names more than `limit` objects the log keeps the end only, and a context whose place is
/// before that compares all its objects when it wakes.
final class ChangeBroadcast: Sendable {
    private struct State {
        var log: ChangeLog
        var inboxes: [UInt64: ChangeInbox] = [:]
        var alarms: [(owner: UInt64, body: @Sendable () -> Void)] = []
        var mailboxes: [WeakMailbox] = []
        /// The weight from which on the log is looked through for what all have taken in.
        var trimWeight = State.trimWeightMin

        /// So light a log is left as it is.
        static let trimWeightMin = 256

        /// Lets go of what all have taken in.
        mutating func trim() {
            // Who has missed something compares everything, and needs none of the log.
            log.drop(before: inboxes.values.reduce(.max) { $1.place < log.start ? $0 : min($0, $1.place) })
            trimWeight = min(max(log.weight * 2, Self.trimWeightMin), max(log.limit / 2, 1))
        }

        /// The hindmost may have moved on.
        mutating func trim(behind place: UInt64) {
            if inboxes.isEmpty || place <= log.start && log.weight >= Self.trimWeightMin { trim() }
        }
    }

    private let state: Guarded<State>
    private let logEnd = Atomic<UInt64>(0)

    init(limit: Int = 65_536) { state = Guarded(State(log: ChangeLog(limit: limit))) }

    /// The number of the next commit.
    var end: UInt64 { logEnd.load(ordering: .acquiring) }

    /// The commits that are kept, and the objects that they name.
    var weight: Int { state.withLock { $0.log.weight } }

    // MARK: Contexts

    func subscribe(_ inbox: ChangeInbox) {
        state.withLock { state in
            inbox.move(to: state.log.end)
            state.inboxes[inbox.owner] = inbox
        }
    }

    func unsubscribe(_ inbox: ChangeInbox) {
        state.withLock { state in
            state.inboxes[inbox.owner] = nil
            if !state.alarms.isEmpty { state.alarms.removeAll { $0.owner == inbox.owner } }
            state.trim(behind: inbox.place)
        }
    }

    func setAlarm(_ alarm: @escaping @Sendable () -> Void, for owner: UInt64) {
        state.withLock { state in
            state.alarms.removeAll { $0.owner == owner }
            state.alarms.append((owner, alarm))
        }
    }

    func drain(_ inbox: ChangeInbox) -> ChangeInbox.Delivery {
        state.withLock { state in
            let place = inbox.place
            // Copied before the log is trimmed, which would copy all of it while somebody looks at a part.
            let changes = state.log.changes(from: place)?.filter { $0.originator != inbox.owner }
            inbox.move(to: state.log.end)
            state.trim(behind: place)
            return changes.map { ChangeInbox.Delivery(changes: $0) } ?? ChangeInbox.Delivery(isOverflowing: true)
        }
    }

    // MARK: Commits

    /// A commit happened.
    func announce(_ change: StoreChange, of store: Store) {
        let (alarms, mailboxes) = state.withLock { state in
            keep(change, in: &state)
            if !state.mailboxes.isEmpty { state.mailboxes.removeAll { $0.mailbox == nil } }
            return (state.alarms, state.mailboxes)
        }
        for alarm in alarms where alarm.owner != change.originator { alarm.body() }
        guard !mailboxes.isEmpty, change.isUnknown || !change.isEmpty else { return }
        let count = change.isUnknown ? .max : change.count
        for mailbox in mailboxes {
            mailbox.mailbox?.deliver(change.transaction, count: count) { ObjectChanges(change, of: store) }
        }
    }

    /// Keeps a commit for the contexts, if there are any beside the one that made it.
    private func keep(_ change: StoreChange, in state: inout State) {
        let own = state.inboxes[change.originator]
        guard state.inboxes.count > (own == nil ? 0 : 1) else { return }
        // Who saved waits for this to be over, and has nothing to take in of it.
        let isUpToDate = own?.place == state.log.end
        state.log.append(change.forContexts)
        if isUpToDate { own?.move(to: state.log.end) }
        if state.log.weight >= state.trimWeight { state.trim() }
        logEnd.store(state.log.end, ordering: .releasing)
    }

    /// What the stores hold may be older than what was announced: all contexts compare their objects.
    func announceUnknown() {
        let alarms = state.withLock { state in
            state.log.forget()
            logEnd.store(state.log.end, ordering: .releasing)
            return state.alarms
        }
        for alarm in alarms { alarm.body() }
    }

    // MARK: Sequences

    /// The commits from now on.
    func sequence() -> ChangeSequence {
        let mailbox = ChangeMailbox()
        state.withLock { $0.mailboxes.append(WeakMailbox(mailbox: mailbox)) }
        return ChangeSequence(mailbox)
    }

    /// Ends all sequences; for a coordinator that closes.
    func finish() {
        let mailboxes = state.withLock { state in
            defer { state.mailboxes = [] }
            return state.mailboxes
        }
        for mailbox in mailboxes { mailbox.mailbox?.finish() }
    }
}
