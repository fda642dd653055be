internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

/// Saves that are carried out in one version of the store, each with a number of its own.
///
/// `@unchecked Sendable`: touched by who leads, and kept in the state of `SharedSaves` while nobody does.
final class SaveGroup: @unchecked Sendable {
    private let store: Store
    private let transaction: WriteTransaction
    private let rows: RowBuffers
    /// Whose saves they are, in their order; the last of them may have failed.
    private(set) var places: [WaitingSave] = []
    /// The numbers of all but the last.
    private var numbers: [UInt64] = []
    private var last = StoreChange()
    /// How far its commit is: whoever commits it leads still, and it is on its way to the log.
    var isLed = true
    var isUnderWay = true
    /// What the leader was told once the log had it.
    var answered: WaitingSave.Outcome?

    init(_ store: Store, _ transaction: WriteTransaction, _ rows: RowBuffers) {
        self.store = store
        self.transaction = transaction
        self.rows = rows
    }

    /// True while there is room for more.
    var canGoOn: Bool { transaction.canGoOn }

    func carryOut(_ place: WaitingSave) throws {
        let isFirst = places.isEmpty
        // Before anything that can fail: whoever is in the group is answered when it is dissolved.
        places.append(place)
        if !isFirst { numbers.append(try transaction.goOn(published: store.announcing(last)).rawValue) }
        let execution = SaveExecution(place.changes, transaction: transaction, reader: store.reader, buffers: rows)
        try execution.run()
        last = execution.change
        try store.record(last, in: transaction)
    }

    func abort() { transaction.abort() }

    /// What one whose save cannot be carried out is told, once that may be told.
    func refusal(_ error: any Error) -> any Error {
        do { try store.rethrow(error, base: transaction) } catch { return error }
    }

    /// Returns once all are durable; gives back the number of the last.
    func commit(_ steps: CommitSteps) throws -> UInt64 {
        try EngineError.translated { () throws(EngineError) in
            try transaction.commit(store.durability.engineLevel, steps: steps, published: store.announcing(last)).rawValue
        }
    }

    /// The number of the last, once it is being committed.
    var number: UInt64 { transaction.number.rawValue }

    /// What one of them is answered once the log has them.
    func receipt(_ place: Int, upTo last: UInt64) -> WaitingSave.Outcome {
        .over(.success(SaveReceipt(transaction: place < numbers.count ? numbers[place] : last)))
    }

    /// What one of them is answered when the commit has failed. Unless nobody knows what is in the log, nothing was written, and what is
    /// wrong with one of them is not for the others to hear.
    func outcome(_ place: Int, after error: any Error) -> WaitingSave.Outcome {
        let code = (error as? HornbeamError)?.code
        if places.count > 1, code != .durabilityLost, code != .closed { return .alone }
        return .over(.failure(store.doubt(error, place < numbers.count ? numbers[place] : number)))
    }
}
