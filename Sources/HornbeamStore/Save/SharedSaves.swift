internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

/// Small saves that several threads make at once, carried out by one of them.
///
/// Whoever finds nobody at work leads: it carries out its own save and those that arrive meanwhile, in one version, and then waits for
/// the log; the next to arrive leads while it waits. So the writer's turn never waits until a thread has woken up, saves that come
/// together share the nodes that they change, and who does not lead sleeps once. Each save is a transaction of its own all the same.
final class SharedSaves: Sendable {
    private struct State {
        var isLed = false
        var waiting: [WaitingSave] = []
        /// Cells to be used again.
        var unused: [WaitingSave] = []
    }

    /// `@unchecked Sendable`: only who leads uses them.
    private final class LeadersBuffers: @unchecked Sendable {
        var rows: RowBuffers?
    }

    private let state = Guarded(State())
    private let buffers = LeadersBuffers()

    func save(_ changes: ChangeSet, in store: Store) throws -> SaveReceipt {
        guard let place = arrive(with: changes) else { return try lead(changes, in: store) }
        let outcome = place.waitForOutcome()
        state.withLock { $0.unused.append(place) }
        switch outcome {
        case .over(let result): return try result.get()
        case .alone: return try store.write(changes, passingOn: true)
        case .lead: return try lead(changes, in: store)
        }
    }

    /// Nil for who is to lead.
    private func arrive(with changes: ChangeSet) -> WaitingSave? {
        state.withLock { state in
            guard state.isLed else {
                state.isLed = true
                return nil
            }
            let place = state.unused.popLast() ?? WaitingSave()
            place.changes.withLock { $0 = changes }
            state.waiting.append(place)
            return place
        }
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

    private func next() -> WaitingSave? {
        state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
    }

    private func lead(_ changes: ChangeSet, in store: Store) throws -> SaveReceipt {
        var isLeading = true
        defer { if isLeading { stepDown() } }
        let transaction = try store.beginTransaction()
        let rows = buffers.rows ?? RowBuffers(store.schema)
        buffers.rows = rows
        var group = SaveGroup(store, transaction, rows)
        do {
            try group.carryOut(changes)
        } catch {
            transaction.abort()
            stepDown()
            isLeading = false
            try store.rethrow(error, base: transaction)
        }
        while transaction.canGoOn, let place = next() {
            do { try group.carryOut(place) } catch {
                // Whose fault it is shows when each is carried out by itself.
                transaction.abort()
                stepDown()
                isLeading = false
                for place in group.places { place.end(.alone) }
                return try store.write(changes, passingOn: true)
            }
        }
        return try group.commit {
            stepDown()
            isLeading = false
        }
    }
}

/// The saves of one transaction of the engine, each with its own number.
private struct SaveGroup {
    private let store: Store
    private let transaction: WriteTransaction
    private let rows: RowBuffers
    /// Who waits for the saves after the first.
    private(set) var places: [WaitingSave] = []
    /// The numbers of all but the last.
    private var numbers: [UInt64] = []
    private var last = StoreChange()

    init(_ store: Store, _ transaction: WriteTransaction, _ rows: RowBuffers) {
        self.store = store
        self.transaction = transaction
        self.rows = rows
    }

    mutating func carryOut(_ changes: ChangeSet) throws {
        let execution = SaveExecution(changes, transaction: transaction, reader: store.reader, buffers: rows)
        try execution.run()
        last = execution.change
        try store.record(last, in: transaction)
    }

    mutating func carryOut(_ place: WaitingSave) throws {
        numbers.append(transaction.goOn(published: store.announcing(last)).rawValue)
        places.append(place)
        try carryOut(place.changes.withLock(\.self))
    }

    /// Returns once all are durable, and answers those who wait.
    ///
    /// - Parameter executed: Called once others may write.
    func commit(_ executed: () -> Void) throws -> SaveReceipt {
        let end = transaction.number.rawValue
        do {
            let number = try EngineError.translated { () throws(EngineError) in
                try transaction.commit(store.durability.engineLevel, executed: executed, published: store.announcing(last)).rawValue
            }
            let receipts = (numbers + [number]).map { SaveReceipt(transaction: $0) }
            for (place, receipt) in zip(places, receipts.dropFirst()) { place.end(.over(.success(receipt))) }
            return receipts[0]
        } catch {
            let numbers = numbers + [end]
            for (place, number) in zip(places, numbers.dropFirst()) { place.end(.over(.failure(store.doubt(error, number)))) }
            throw store.doubt(error, numbers[0])
        }
    }
}

/// The place of one who waits for a leader.
private final class WaitingSave: Sendable {
    enum Outcome: Sendable {
        case over(Result<SaveReceipt, any Error>)
        /// Nothing was written; to be carried out by itself.
        case alone
        /// Nothing was written; to be carried out together with those that wait.
        case lead
    }

    let changes = Guarded(ChangeSet())
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
