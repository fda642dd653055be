internal import HornbeamStore
internal import HornbeamThreads

/// Hands each commit to the contexts' inboxes and to the sequences of changes.
final class ChangeBroadcast: Sendable {
    private struct State {
        var inboxes: [UInt64: ChangeInbox] = [:]
        var mailboxes: [WeakMailbox] = []
    }
    private let state = Guarded(State())

    func subscribe(_ inbox: ChangeInbox, token: UInt64) {
        state.withLock { $0.inboxes[token] = inbox }
    }

    func unsubscribe(token: UInt64) {
        state.withLock { $0.inboxes[token] = nil }
    }

    /// A commit happened.
    func announce(_ change: StoreChange, of store: Store) {
        let (inboxes, mailboxes) = state.withLock { state in
            state.mailboxes.removeAll { $0.mailbox == nil }
            return (
                state.inboxes.filter { $0.key != change.originator }.map(\.value), state.mailboxes.compactMap(\.mailbox)
            )
        }
        for inbox in inboxes { inbox.append(change) }
        guard !mailboxes.isEmpty, change.isUnknown || !change.isEmpty else { return }
        let count = change.isUnknown ? .max : change.count
        for mailbox in mailboxes { mailbox.deliver(change.transaction, count: count) { ObjectChanges(change, of: store) } }
    }

    /// What the stores hold may be older than what was announced: all contexts compare their objects.
    func announceUnknown() {
        for inbox in state.withLock({ Array($0.inboxes.values) }) { inbox.overflow() }
    }

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
