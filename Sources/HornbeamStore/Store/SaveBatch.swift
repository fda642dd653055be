internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

/// A batch of group commit: saves that are executed in one version of the store, each with a transaction number of its own.
///
/// `@unchecked Sendable`: only the leader accesses it; without a leader, the state of `SaveGroupCommit` owns it.
final class SaveBatch: @unchecked Sendable {
    private let store: Store
    private let transaction: WriteTransaction
    private let rows: RowBuffers
    /// The saves in execution order. The last of them may have failed.
    private(set) var saves: [QueuedSave] = []
    /// The transaction numbers of all saves except the last.
    private var numbers: [UInt64] = []
    private var last = StoreChange()
    /// True until the commit is executed; then another thread can lead. `isWritingLog` is true until the log write has ended.
    var isLed = true
    var isWritingLog = true
    /// The leader's outcome, set after the log write.
    var leaderOutcome: QueuedSave.Outcome?

    init(_ store: Store, _ transaction: WriteTransaction, _ rows: RowBuffers) {
        self.store = store
        self.transaction = transaction
        self.rows = rows
    }

    /// True while the transaction has room for another save.
    var canAddTransaction: Bool { transaction.canAddTransaction }

    func execute(_ place: QueuedSave) throws {
        let isFirst = saves.isEmpty
        // Append before any step that can fail, so that `dissolve` sets the outcome of this save too.
        saves.append(place)
        if !isFirst { numbers.append(try transaction.endAndBeginNext(published: store.publishing(last)).rawValue) }
        let execution = SaveExecution(place.changes, transaction: transaction, reader: store.reader, buffers: rows)
        try execution.run()
        last = execution.change
        try store.record(last, in: transaction)
    }

    func abort() { transaction.abort() }

    /// The error to report for a save that cannot be executed.
    func refusal(_ error: any Error) -> any Error {
        do { try store.rethrow(error, base: transaction) } catch { return error }
    }

    /// Returns the number of the last save when all saves are durable.
    func commit(_ steps: CommitSteps) throws -> UInt64 {
        try EngineError.translated { () throws(EngineError) in
            try transaction.commit(store.durability.engineLevel, steps: steps, published: store.publishing(last)).rawValue
        }
    }

    /// The number of the last save. Valid after the commit has begun.
    var number: UInt64 { transaction.number.rawValue }

    /// The result of one save after the log write.
    func successOutcome(_ place: Int, upTo last: UInt64) -> QueuedSave.Outcome {
        .finished(.success(CommitResult(transaction: place < numbers.count ? numbers[place] : last)))
    }

    /// The result of one save after a failed commit. Unless the outcome is in doubt, the batch wrote nothing, and the error may come from another
    /// save of the batch; so each save is executed alone.
    func outcome(_ place: Int, after error: any Error) -> QueuedSave.Outcome {
        let code = (error as? HornbeamError)?.code
        if saves.count > 1, code != .durabilityLost, code != .closed { return .alone }
        return .finished(.failure(store.doubt(error, place < numbers.count ? numbers[place] : number)))
    }
}
