internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

/// Small saves that several threads make at once, carried out by few of them and committed together.
///
/// Whoever finds nobody at work leads: it carries out its own save and those that arrive meanwhile, in one version. When no group is
/// on its way to the log, it commits them. Otherwise the group is left open and its members sleep; the next to arrive carries its save
/// out in it, and when the log is free, one member commits. So each sync is for all that came during the one before, the writer's turn
/// never waits for a thread to wake up, nodes that several saves change are copied once, and who waits sleeps once. Each save is a transaction of its own all
/// the same.
///
/// What holds: who leads owns the open group, and while nobody leads the state does; a group is left open only while another is on
/// its way, whose end sees to it. An open group has the writer's turn, so whoever commits says that the log is done before it waits for
/// other writers.
final class SharedSaves: Sendable {
    private struct State {
        var isLed = false
        /// Groups on their way to the log.
        var underWay = 0
        /// Carried out and not committed, while nobody leads.
        var open: SaveGroup?
        /// Not carried out yet, while somebody leads.
        var waiting: [WaitingSave] = []
        /// Places to be used again.
        var unused: [WaitingSave] = []
    }

    /// `@unchecked Sendable`: only who leads uses them.
    private final class LeadersBuffers: @unchecked Sendable {
        var rows: RowBuffers?
    }

    private let state = Guarded(State())
    private let buffers = LeadersBuffers()

    func save(_ changes: ChangeSet, in store: Store) throws -> SaveReceipt {
        let (place, turn) = arrive(with: changes)
        var outcome: WaitingSave.Outcome?
        if case .leads(let open) = turn { outcome = lead(place, in: open, of: store) }
        while true {
            switch outcome ?? place.waitForOutcome() {
            case .lead: outcome = lead(place, in: takeOpen(), of: store)
            case .commit(let group): outcome = conclude(group, for: place)
            case .over(let result):
                leave(place)
                return try result.get()
            case .alone:
                leave(place)
                return try store.write(changes, passingOn: true)
            }
        }
    }

    // MARK: Places

    private enum Turn: Sendable {
        case waits
        /// Leads, and goes on with the open group if there is one.
        case leads(SaveGroup?)
    }

    private func arrive(with changes: ChangeSet) -> (place: WaitingSave, turn: Turn) {
        state.withLock { state in
            let place = state.unused.popLast() ?? WaitingSave()
            place.changes = changes
            if state.isLed {
                state.waiting.append(place)
                return (place, .waits)
            }
            state.isLed = true
            return (place, .leads(state.open.take()))
        }
    }

    private func leave(_ place: WaitingSave) {
        place.changes = ChangeSet()
        state.withLock { $0.unused.append(place) }
    }

    private func next() -> WaitingSave? {
        state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
    }

    private func takeOpen() -> SaveGroup? { state.withLock { $0.open.take() } }

    // MARK: Leading

    /// Carries out a save, in the open group if there is one; nil when the outcome is to be waited for.
    private func lead(_ place: WaitingSave, in open: SaveGroup?, of store: Store) -> WaitingSave.Outcome? {
        do {
            let group = try open ?? begin(in: store)
            return carryOut(place, in: group, leader: place)
        } catch {
            stepDown()
            return .over(.failure(error))
        }
    }

    private func begin(in store: Store) throws -> SaveGroup {
        let transaction = try store.beginTransaction()
        let rows = buffers.rows ?? RowBuffers(store.schema)
        buffers.rows = rows
        return SaveGroup(store, transaction, rows)
    }

    /// Carries out a save and those that wait, and commits them or leaves them open.
    private func carryOut(_ first: WaitingSave?, in group: SaveGroup, leader: WaitingSave) -> WaitingSave.Outcome? {
        var place = first
        while true {
            if let place {
                do { try group.carryOut(place) } catch { return dissolve(group, error, leader: leader) }
            }
            switch nextStep(of: group) {
            case .carryOut(let next): place = next
            case .leaveOpen: return nil
            case .commit: return commit(group, leader: leader)
            }
        }
    }

    private enum Step: Sendable {
        case carryOut(WaitingSave)
        case leaveOpen
        case commit
    }

    /// Those who wait come first; then a group is left open while another is on its way to the log, unless it is full.
    private func nextStep(of group: SaveGroup) -> Step {
        let canGoOn = group.canGoOn
        return state.withLock { state in
            if canGoOn, !state.waiting.isEmpty { return .carryOut(state.waiting.removeFirst()) }
            if canGoOn, state.underWay > 0 {
                state.open = group
                state.isLed = false
                return .leaveOpen
            }
            state.underWay += 1
            return .commit
        }
    }

    /// The log is free for a group that was left open: its member leads.
    private func conclude(_ group: SaveGroup, for place: WaitingSave) -> WaitingSave.Outcome? {
        carryOut(group.canGoOn ? next() : nil, in: group, leader: place)
    }

    /// Returns once a group is durable, and answers those who wait for it, before anything that comes after a commit.
    private func commit(_ group: SaveGroup, leader: WaitingSave) -> WaitingSave.Outcome {
        let steps = CommitSteps(
            executed: {
                group.isLed = false
                self.stepDown()
            },
            logged: { isDurable in
                group.isUnderWay = false
                self.logIsFree()
                if isDurable { group.answered = self.answer(group, leader: leader) { group.receipt($0, upTo: group.number) } }
            })
        var failure: (any Error)?
        var number: UInt64 = 0
        do { number = try group.commit(steps) } catch { failure = error }
        if group.isLed { stepDown() }
        if group.isUnderWay { logIsFree() }
        if let answered = group.answered { return answered }
        return answer(group, leader: leader) { place in
            failure.map { group.outcome(place, after: $0) } ?? group.receipt(place, upTo: number)
        }
    }

    /// One of the saves cannot be carried out. Whose fault it is shows when each is carried out by itself.
    private func dissolve(_ group: SaveGroup, _ error: any Error, leader: WaitingSave) -> WaitingSave.Outcome {
        group.abort()
        stepDown()
        guard group.places.count > 1 else { return .over(.failure(group.refusal(error))) }
        return answer(group, leader: leader) { _ in .alone }
    }

    /// Tells the members of a group what became of their saves, by their place in it; gives back the leader's own.
    private func answer(_ group: SaveGroup, leader: WaitingSave, _ outcome: (Int) -> WaitingSave.Outcome) -> WaitingSave.Outcome {
        var own = WaitingSave.Outcome.alone
        for (index, place) in group.places.enumerated() {
            if place === leader { own = outcome(index) } else { place.end(outcome(index)) }
        }
        return own
    }

    /// Lets the next lead, if anybody waits.
    private func stepDown() {
        let next = state.withLock { state -> WaitingSave? in
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.isLed = false
            return nil
        }
        next?.end(.lead)
    }

    /// A group is in the log: what was left open meanwhile is due.
    private func logIsFree() {
        let group = state.withLock { state -> SaveGroup? in
            state.underWay -= 1
            guard state.underWay == 0, !state.isLed, let group = state.open else { return nil }
            state.open = nil
            state.isLed = true
            return group
        }
        if let group { group.places[0].end(.commit(group)) }
    }
}

/// The place of one whose save others may carry out.
///
/// `@unchecked Sendable`: `changes` are set before the place is handed over under the lock of `SharedSaves`, and read by who leads until the
/// outcome is told.
final class WaitingSave: @unchecked Sendable {
    enum Outcome: Sendable {
        case over(Result<SaveReceipt, any Error>)
        /// Nothing was written; to be carried out by itself.
        case alone
        /// Nothing was written; to be carried out together with those that wait.
        case lead
        /// Carried out; the group is to be committed.
        case commit(SaveGroup)
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
