// The state of an open store: open, failed, or in a stage of closing. Commits, checkpoints, snapshots and upkeep check it before they begin.
//
//  stage       snapshot   begin   commit   checkpoint   last checkpoint   next stage
//  open        yes        yes     yes      yes          no                closing, by `close`
//  closing     no         no      yes      yes          no                finishing, when no writer and no checkpoint runs
//  finishing   no         no      yes      no           yes               closed, when the last checkpoint has ended
//  closed      no         no      no       no           no                –
//
// A failure may come at any stage. From then on only snapshots are allowed, and these until the closing begins. A failure after the closing is
// recorded too: a commit whose sync fails while another thread closes the store is in doubt, and must not report only that the store is closed.
// A transaction that began before the closing may still commit, and a checkpoint that began before a failure may still end.

import HornbeamThreads
import Synchronization

/// The state of one opening of a store.
final class Lifecycle: Sendable {
    enum Stage: CaseIterable { case open, closing, finishing, closed }
    enum Event: CaseIterable { case fail, close, finish, end }
    enum Use: CaseIterable { case snapshot, begin, commit, checkpoint, lastCheckpoint }

    /// The transitions, and what each state allows.
    struct Table: Equatable {
        private(set) var stage = Stage.open
        private(set) var hasFailed = false

        /// Returns false, and changes nothing, for an event that comes too late or too early.
        mutating func apply(_ event: Event) -> Bool {
            switch (event, stage) {
            case (.fail, _):
                if hasFailed { return false }
                hasFailed = true
            case (.close, .open): stage = .closing
            case (.finish, .closing): stage = .finishing
            case (.end, .finishing): stage = .closed
            default: return false
            }
            return true
        }

        func allows(_ use: Use) -> Bool {
            switch use {
            case .snapshot: stage == .open
            case .begin: stage == .open && !hasFailed
            case .commit: stage != .closed && !hasFailed
            case .checkpoint: (stage == .open || stage == .closing) && !hasFailed
            case .lastCheckpoint: stage == .finishing && !hasFailed
            }
        }
    }

    private struct State {
        var table = Table()
        var failure: EngineError?
        /// True when the closing has ended, with or without an error: the files are no longer used.
        var isReleased = false
    }

    private let path: String
    private let state = Guarded(State())
    /// True in the initial state of the table, for a check without a lock.
    private let isOpen = Atomic(true)

    init(path: String) { self.path = path }

    /// The error of a use that is not allowed: the first failure, or `closed`; nil if it is allowed.
    func refusal(of use: Use) -> EngineError? {
        if isOpen.load(ordering: .acquiring), use != .lastCheckpoint { return nil }
        return state.withLock { state in
            if state.table.allows(use) { return nil }
            return use == .snapshot ? closed : state.failure ?? closed
        }
    }

    func require(_ use: Use) throws(EngineError) {
        if let refusal = refusal(of: use) { throw refusal }
    }

    func allows(_ use: Use) -> Bool { refusal(of: use) == nil }

    /// Records the first failure; later ones change nothing.
    func fail(_ error: EngineError) {
        state.withLock { state in
            guard state.table.apply(.fail) else { return }
            state.failure = error
            isOpen.store(false, ordering: .releasing)
        }
    }

    /// Begins the closing; false if it has begun before.
    func close() -> Bool { apply(.close) }

    /// Ends checkpoints other than the last one. No writer and no checkpoint runs.
    func finish() {
        let isNext = apply(.finish)
        assert(isNext, "A store finishes once, after it began to close.")
    }

    func end() {
        let isNext = apply(.end)
        assert(isNext, "A store is closed once, after its last checkpoint.")
    }

    /// The closing has ended; threads that wait for it go on.
    func release() {
        state.withLock { $0.isReleased = true }
        state.monitor.signalAll(.progress)
    }

    /// Waits until the thread that closes the store has ended.
    func waitUntilReleased() { state.wait { $0.isReleased ? () : nil } }

    private func apply(_ event: Event) -> Bool {
        state.withLock { state in
            guard state.table.apply(event) else { return false }
            isOpen.store(false, ordering: .releasing)
            return true
        }
    }

    private var closed: EngineError { EngineError(.closed, "The store is closed.", path: path) }
}
