// The queue of commits: one thread executes the work of several threads with the writer's turn, and commits it as one group with one write and one
// sync of the log.
//
// Work that arrives without a leader makes its thread the leader. The leader takes the turn, executes its own work and that which arrives meanwhile,
// in one version. When no group is being written to the log, it commits the group. Otherwise it leaves the group open and waits with the
// followers; the next work that arrives is executed in the open group by its own thread. When the log is free, the thread that wrote it commits the
// open group, or after some groups in a row one member of it does.
// So each sync covers all work that arrived during the previous sync, the writer's turn never waits for a thread to wake up, nodes that several
// transactions change are copied once, and a waiting thread sleeps once. Each work is still a transaction of its own.
//
// Large work is not shared: it waits for the turn like each transaction that `begin` starts, and the log takes both (CommitPipeline).
//
// Invariants:
// - The leader owns the open group; without a leader, `state` owns it.
// - A group is left open only while another is being written to the log. The end of that write selects its leader.
// - An open group has the writer's turn, so a committing thread reports the end of the log write before it waits for other writers.

internal import HornbeamThreads

/// Executes and commits work of several threads in groups.
package final class CommitQueue: Sendable {
    package typealias Published = @Sendable (TransactionNumber) -> Void
    /// Changes a store in a transaction, and returns what is called with its number when readers see it. It runs with the writer's turn, maybe on
    /// another thread, and again if a group is undone; it keeps nothing of a run that is undone.
    package typealias Work = (WriteTransaction) throws -> Published?

    private struct State {
        var isLed = false
        /// The number of groups that are being written to the log.
        var inLog = 0
        /// Executed but not committed, without a leader.
        var open: CommitGroup?
        /// Not executed yet; the leader executes them.
        var waiting: [QueuedWork] = []
        /// Objects for reuse.
        var unused: [QueuedWork] = []
    }

    private let state = Guarded(State())

    package init() {}

    /// Executes work in a transaction of its own number and returns the number when it is committed.
    ///
    /// Throws an error of `begin`, `RefusedWork` with the error of the work, or `FailedCommit`. A refused work has no effect, and affects no other.
    /// - Parameter isShared: False for work that delays others, or needs a version of its own.
    package func commit(
        _ durability: Durability, isShared: Bool, begin: () throws -> WriteTransaction, _ work: @escaping Work
    ) throws -> TransactionNumber {
        guard isShared else { return try commitAlone(durability, begin, work) }
        let (place, turn) = arrive(with: work, durability)
        var outcome: QueuedWork.Outcome?
        if case .leads(let open) = turn { outcome = lead(place, in: open, begin) }
        while true {
            switch outcome ?? place.waitForOutcome() {
            case .lead: outcome = lead(place, in: takeOpen(), begin)
            case .commit(let group): outcome = conclude(group, for: place)
            case .over(let result):
                leave(place)
                return try result.get()
            case .alone:
                leave(place)
                return try commitAlone(durability, begin, work)
            }
        }
    }

    private func commitAlone(_ durability: Durability, _ begin: () throws -> WriteTransaction, _ work: Work) throws -> TransactionNumber {
        let transaction = try begin()
        let published: Published?
        do { published = try work(transaction) } catch {
            transaction.abort()
            throw RefusedWork(base: transaction.baseTransaction, error: error)
        }
        do throws(EngineError) { return try transaction.commit(durability, published: published) } catch {
            throw FailedCommit(number: transaction.number, error: error)
        }
    }

    // MARK: Places

    private enum Turn: Sendable {
        case waits
        /// Leads, and continues the open group if there is one.
        case leads(CommitGroup?)
    }

    private func arrive(with work: @escaping Work, _ durability: Durability) -> (place: QueuedWork, turn: Turn) {
        nonisolated(unsafe) let work = work  // executed with the writer's turn, while this thread waits
        return state.withLock { state in
            let place = state.unused.popLast() ?? QueuedWork()
            unsafe place.set(work, durability)
            if state.isLed {
                state.waiting.append(place)
                return (place, .waits)
            }
            state.isLed = true
            return (place, .leads(state.open.take()))
        }
    }

    private func leave(_ place: QueuedWork) {
        place.clear()
        state.withLock { $0.unused.append(place) }
    }

    private func next() -> QueuedWork? {
        state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
    }

    private func takeOpen() -> CommitGroup? { state.withLock { $0.open.take() } }

    // MARK: Leading

    /// Executes work, in the open group if there is one; nil when the caller must wait for the outcome.
    private func lead(_ place: QueuedWork, in open: CommitGroup?, _ begin: () throws -> WriteTransaction) -> QueuedWork.Outcome? {
        do {
            return execute(place, in: try open ?? CommitGroup(try begin()), leader: place)
        } catch {
            // The waiting work has waited as long as a transaction may wait for other processes, or cannot begin either.
            for waiting in takeWaiting() { waiting.end(.over(.failure(error))) }
            stepDown()
            return .over(.failure(error))
        }
    }

    /// The number of works that are not executed yet.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    private func takeWaiting() -> [QueuedWork] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    /// Executes work and that which waits, and commits the group or leaves it open.
    private func execute(_ first: QueuedWork?, in group: CommitGroup, leader: QueuedWork) -> QueuedWork.Outcome? {
        var place = first
        while true {
            if let place {
                do { try group.execute(place) } catch { return dissolve(group, error, leader: leader) }
            }
            switch nextStep(of: group) {
            case .execute(let next): place = next
            case .leaveOpen: return nil
            case .commit: return commit(group, leader: leader)
            }
        }
    }

    private enum Step: Sendable {
        case execute(QueuedWork)
        case leaveOpen
        case commit
    }

    /// Waiting work is executed first. Then the group stays open while another one is being written to the log, unless it is full.
    private func nextStep(of group: CommitGroup) -> Step {
        let canAddTransaction = group.canAddTransaction
        return state.withLock { state in
            assert(state.isLed && state.open == nil, "The leader owns its group.")
            if canAddTransaction, !state.waiting.isEmpty { return .execute(state.waiting.removeFirst()) }
            if canAddTransaction, state.inLog > 0 {
                state.open = group
                state.isLed = false
                return .leaveOpen
            }
            state.inLog += 1
            return .commit
        }
    }

    /// Commits a group that was left open, after the log has become free. One of its members leads.
    private func conclude(_ group: CommitGroup, for place: QueuedWork) -> QueuedWork.Outcome? {
        execute(group.canAddTransaction ? next() : nil, in: group, leader: place)
    }

    /// Returns when a group is durable. Answers its followers before any later step of the commit.
    ///
    /// If a group was left open meanwhile, commits it too, because the log would stand still until another thread wakes up. Then the followers are
    /// answered by `previous` while the device writes that group.
    /// - Parameter leader: The member that this thread executes; nil if this thread commits the group for others.
    private func commit(
        _ group: CommitGroup, leader: QueuedWork?, after previous: (() -> Void)? = nil, inARow: Int = 1
    ) -> QueuedWork.Outcome {
        var previous = previous
        func answerPrevious() { previous.take()?() }
        let steps = CommitSteps(
            executed: {
                group.isLed = false
                self.stepDown()
            },
            written: previous == nil ? nil : answerPrevious,
            logged: { isDurable in
                group.isInLog = false
                answerPrevious()
                let answer = { if isDurable { group.answered = self.answer(group, leader: leader) { .over(.success(group.number($0))) } } }
                if let next = self.logIsFree(takesNext: inARow < Self.groupsInARow) {
                    _ = self.commit(next, leader: nil, after: answer, inARow: inARow + 1)
                } else {
                    answer()
                }
            })
        var failure: EngineError?
        do throws(EngineError) { try group.commit(steps) } catch { failure = error }
        answerPrevious()
        if group.isLed { stepDown() }
        if group.isInLog { _ = logIsFree(takesNext: false) }
        if let answered = group.answered { return answered }
        return answer(group, leader: leader) { place in
            failure.map { group.outcome(place, after: $0) } ?? .over(.success(group.number(place)))
        }
    }

    /// One work of the group cannot be executed. Each is then executed alone, which attributes the error to its work.
    private func dissolve(_ group: CommitGroup, _ error: any Error, leader: QueuedWork) -> QueuedWork.Outcome {
        group.abort()
        stepDown()
        guard group.members.count > 1 else { return .over(.failure(RefusedWork(base: group.base, error: error))) }
        return answer(group, leader: leader) { _ in .alone }
    }

    /// Answers the members of a group with the outcome at their position; returns the leader's own.
    private func answer(_ group: CommitGroup, leader: QueuedWork?, _ outcome: (Int) -> QueuedWork.Outcome) -> QueuedWork.Outcome {
        assert(leader == nil || group.members.contains { $0 === leader }, "The leader is a member of its group.")
        var own = QueuedWork.Outcome.alone
        for (index, place) in group.members.enumerated() {
            if place === leader { own = outcome(index) } else { place.end(outcome(index)) }
        }
        return own
    }

    /// Makes the thread of the first waiting work the leader, if there is one.
    private func stepDown() {
        let next = state.withLock { state -> QueuedWork? in
            assert(state.isLed, "A leader steps down once.")
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.isLed = false
            return nil
        }
        next?.end(.lead)
    }

    /// After a log write: returns the open group, which the caller must commit, or selects a member of it as its leader.
    private func logIsFree(takesNext: Bool) -> CommitGroup? {
        let group = state.withLock { state -> CommitGroup? in
            assert(state.inLog > 0, "A log write ends after it began.")
            state.inLog -= 1
            guard state.inLog == 0, !state.isLed, let group = state.open else { return nil }
            state.open = nil
            state.isLed = true
            if takesNext { state.inLog = 1 }
            return group
        }
        if takesNext { return group }
        if let group { group.members[0].end(.commit(group)) }
        return nil
    }

    /// The groups that one thread commits, one after the other, before it returns to its caller.
    private static let groupsInARow = 4
}

/// The error of queued work. Nothing was written.
package struct RefusedWork: Error {
    /// The newest transaction whose changes the work may have read.
    package let base: TransactionNumber
    package let error: any Error
}

/// The error of a commit. With `durabilityLost` the outcome is in doubt until the store is opened again; otherwise nothing was written.
package struct FailedCommit: Error {
    package let number: TransactionNumber
    package let error: EngineError
}
