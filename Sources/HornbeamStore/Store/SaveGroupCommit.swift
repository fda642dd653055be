internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

/// Group commit of small saves: one thread executes the saves of several threads and commits them together.
///
/// A save that finds no leader becomes the leader. It executes its own changes and those that arrive meanwhile, in one version. When
/// no batch is being written to the log, the leader commits its batch. Otherwise it leaves the batch open and waits with the followers; the
/// next save that arrives leads and executes itself in the open batch. When the log is free, one member commits the batch. So each
/// sync covers all saves that arrived during the previous sync, the writer's turn never waits for a thread to wake up, nodes that
/// several saves change are copied once, and a waiting thread sleeps once. Each save is still a transaction of its own.
///
/// Invariants:
/// - The leader owns the open batch; without a leader, `state` owns it.
/// - A batch is left open only while another is being written to the log. The end of that write selects its leader.
/// - An open batch has the writer's turn, so a committing thread reports the end of the log write before it waits for other writers.
final class SaveGroupCommit: Sendable {
    private struct State {
        var isLed = false
        /// The number of batches that are being written to the log.
        var logWriteCount = 0
        /// A batch that is executed but not committed, and has no leader.
        var open: SaveBatch?
        /// Saves that are not executed yet. The leader executes them.
        var waiting: [QueuedSave] = []
        /// Queue entries that can be reused.
        var unused: [QueuedSave] = []
    }

    /// `@unchecked Sendable`: only the leader uses them.
    private final class LeaderBuffers: @unchecked Sendable {
        var rows: RowBuffers?
    }

    private let state = Guarded(State())
    private let buffers = LeaderBuffers()

    func save(_ changes: ChangeSet, in store: Store) throws -> CommitResult {
        let (place, turn) = arrive(with: changes)
        var outcome: QueuedSave.Outcome?
        if case .leads(let open) = turn { outcome = lead(place, in: open, of: store) }
        while true {
            switch outcome ?? place.waitForOutcome() {
            case .lead: outcome = lead(place, in: removeOpenBatch(), of: store)
            case .commit(let group): outcome = executeOpenBatch(group, for: place)
            case .finished(let result):
                leave(place)
                return try result.get()
            case .alone:
                leave(place)
                return try store.write(changes, forwarding: true)
            }
        }
    }

    // MARK: The queue

    private enum Turn: Sendable {
        case waits
        /// Leads, and continues the open batch if there is one.
        case leads(SaveBatch?)
    }

    private func arrive(with changes: ChangeSet) -> (place: QueuedSave, turn: Turn) {
        state.withLock { state in
            let place = state.unused.popLast() ?? QueuedSave()
            place.changes = changes
            if state.isLed {
                state.waiting.append(place)
                return (place, .waits)
            }
            state.isLed = true
            return (place, .leads(state.open.take()))
        }
    }

    private func leave(_ place: QueuedSave) {
        place.changes = ChangeSet()
        state.withLock { $0.unused.append(place) }
    }

    private func next() -> QueuedSave? {
        state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
    }

    private func removeOpenBatch() -> SaveBatch? { state.withLock { $0.open.take() } }

    // MARK: Leading

    /// Executes a save, in the open batch if there is one; nil when the caller must wait for the outcome.
    private func lead(_ place: QueuedSave, in open: SaveBatch?, of store: Store) -> QueuedSave.Outcome? {
        do {
            let group = try open ?? begin(in: store)
            return execute(place, in: group, leader: place)
        } catch {
            stepDown()
            return .finished(.failure(error))
        }
    }

    private func begin(in store: Store) throws -> SaveBatch {
        let transaction = try store.beginTransaction()
        let rows = buffers.rows ?? RowBuffers(store.schema)
        buffers.rows = rows
        return SaveBatch(store, transaction, rows)
    }

    /// Executes a save and the waiting ones, and commits them or leaves the batch open.
    private func execute(_ first: QueuedSave?, in group: SaveBatch, leader: QueuedSave) -> QueuedSave.Outcome? {
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
        case execute(QueuedSave)
        case leaveOpen
        case commit
    }

    /// Waiting saves are executed first. Then the batch stays open while another one is being written to the log, unless it is full.
    private func nextStep(of group: SaveBatch) -> Step {
        let canAddTransaction = group.canAddTransaction
        return state.withLock { state in
            if canAddTransaction, !state.waiting.isEmpty { return .execute(state.waiting.removeFirst()) }
            if canAddTransaction, state.logWriteCount > 0 {
                state.open = group
                state.isLed = false
                return .leaveOpen
            }
            state.logWriteCount += 1
            return .commit
        }
    }

    /// Executes a waiting save in a batch that was left open, and commits the batch, after a log write has ended. One of its members leads.
    private func executeOpenBatch(_ group: SaveBatch, for place: QueuedSave) -> QueuedSave.Outcome? {
        execute(group.canAddTransaction ? next() : nil, in: group, leader: place)
    }

    /// Commits a batch. When it is durable, sets the outcomes of the followers before any later step of the commit.
    private func commit(_ group: SaveBatch, leader: QueuedSave) -> QueuedSave.Outcome {
        let steps = CommitSteps(
            executed: {
                group.isLed = false
                self.stepDown()
            },
            logged: { isDurable in
                group.isWritingLog = false
                self.logWriteEnded()
                if isDurable { group.leaderOutcome = self.answer(group, leader: leader) { group.successOutcome($0, upTo: group.number) } }
            })
        var failure: (any Error)?
        var number: UInt64 = 0
        do { number = try group.commit(steps) } catch { failure = error }
        if group.isLed { stepDown() }
        if group.isWritingLog { logWriteEnded() }
        if let leaderOutcome = group.leaderOutcome { return leaderOutcome }
        return answer(group, leader: leader) { place in
            failure.map { group.outcome(place, after: $0) } ?? group.successOutcome(place, upTo: number)
        }
    }

    /// Aborts a batch because a save cannot be executed. Each save is then executed alone, so that the error reaches its caller.
    private func dissolve(_ group: SaveBatch, _ error: any Error, leader: QueuedSave) -> QueuedSave.Outcome {
        group.abort()
        stepDown()
        guard group.saves.count > 1 else { return .finished(.failure(group.refusal(error))) }
        return answer(group, leader: leader) { _ in .alone }
    }

    /// Sets the outcome of each follower, by its position in the batch; returns the leader's outcome.
    private func answer(_ group: SaveBatch, leader: QueuedSave, _ outcome: (Int) -> QueuedSave.Outcome) -> QueuedSave.Outcome {
        var own = QueuedSave.Outcome.alone
        for (index, place) in group.saves.enumerated() {
            if place === leader { own = outcome(index) } else { place.end(outcome(index)) }
        }
        return own
    }

    /// Makes the first waiting save the leader, if there is one.
    private func stepDown() {
        let next = state.withLock { state -> QueuedSave? in
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.isLed = false
            return nil
        }
        next?.end(.lead)
    }

    /// After a log write, selects a leader for the open batch.
    private func logWriteEnded() {
        let group = state.withLock { state -> SaveBatch? in
            state.logWriteCount -= 1
            guard state.logWriteCount == 0, !state.isLed, let group = state.open else { return nil }
            state.open = nil
            state.isLed = true
            return group
        }
        if let group { group.saves[0].end(.commit(group)) }
    }
}

/// A save that another thread may execute.
///
/// `@unchecked Sendable`: `changes` are set before the object is queued under the lock of `SaveGroupCommit`, and only the leader reads them until
/// the outcome is set.
final class QueuedSave: @unchecked Sendable {
    enum Outcome: Sendable {
        case finished(Result<CommitResult, any Error>)
        /// Nothing was written; the caller executes the save alone.
        case alone
        /// Nothing was written; the caller leads and executes the save together with the waiting ones.
        case lead
        /// Executed; the caller commits the batch.
        case commit(SaveBatch)
    }

    var changes = ChangeSet()
    private let outcome = Guarded<Outcome?>(nil)

    func waitForOutcome() -> Outcome {
        outcome.wait { outcome in
            defer { outcome = nil }
            return outcome
        }
    }

    func end(_ outcome: Outcome) {
        self.outcome.withLock { $0 = outcome }
        self.outcome.signal()
    }
}
