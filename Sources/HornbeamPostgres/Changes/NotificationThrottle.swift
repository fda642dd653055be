#if Postgres
internal import HornbeamThreads

/// Throttles the notifications of a process: while it saves without a pause, one notification announces several saves.
///
/// The listener of the process receives each of these notifications too. It then waits for a moment, and notifies again if saves were committed meanwhile.
final class NotificationThrottle: Sendable {
    private struct State {
        /// The process has a listener.
        var isListening = false
        /// The time of a notification to which the listener has not reacted yet.
        var sentAt: ContinuousClock.Instant?
        /// Saves were committed since then.
        var hasUnannounced = false

        /// False also if the listener should have reacted long ago, for example because its connection was lost.
        var isWaiting: Bool { isListening && sentAt.map { ContinuousClock.now - $0 < NotificationThrottle.reactionMax } ?? false }
    }

    /// Longer than the pause of the listener.
    private static let reactionMax = Duration.seconds(1)

    private let state = Guarded(State())

    func setListening(_ isListening: Bool) { state.withLock { $0 = State(isListening: isListening) } }

    /// True if a save must notify after its commit. If it fails, it calls `withdraw`.
    func begin() -> Bool {
        state.withLock { state in
            if state.isWaiting { return false }
            state.sentAt = .now
            return true
        }
    }

    func withdraw() { state.withLock { $0.sentAt = nil } }

    /// Called after the commit of a save that does not notify. True if it must notify nevertheless, because the listener has reacted meanwhile.
    func committed() -> Bool {
        state.withLock { state in
            guard state.isWaiting else {
                state.sentAt = .now
                return true
            }
            state.hasUnannounced = true
            return false
        }
    }

    /// Called by the listener some time after a notification of this process. True if it must notify again.
    func react() -> Bool {
        state.withLock { state in
            defer { state.hasUnannounced = false }
            state.sentAt = state.hasUnannounced ? .now : nil
            return state.hasUnannounced
        }
    }
}
#endif
