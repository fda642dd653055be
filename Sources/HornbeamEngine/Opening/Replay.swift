// Applies the transactions of a log to the newest version.
//
// Usually all are applied as one transaction, so that a leaf is copied only once, even if a thousand transactions change it. With the starting
// point `lastReadable`, the log may be damaged, and each transaction makes its own version.
// Invariant: after an error the engine has the last finished version.

/// The replay of a log. One thread uses it. If it is released before `finish`, the changes since the last version are discarded.
final class Replay {
    private let engine: Engine
    /// True if each transaction makes its own version.
    private let publishesEach: Bool
    private var transaction: WriteTransaction?
    private var last = TransactionNumber.zero

    init(_ engine: Engine, publishesEach: Bool) {
        self.engine = engine
        self.publishesEach = publishesEach
    }

    /// Applies one transaction. Throws `damaged` if its number does not follow the last one.
    func apply(_ payload: Bytes, as number: TransactionNumber) throws(EngineError) {
        let transaction = try current()
        guard last.next == number else {
            throw EngineError(.damaged, "The log holds transaction \(number) where \(last.next) should follow.")
        }
        try transaction.replay(payload)
        transaction.number = number
        last = number
        if publishesEach { finish() }
    }

    private func current() throws(EngineError) -> WriteTransaction {
        if let transaction { return transaction }
        let base = try engine.core.pipeline.takeTurn()
        let transaction = WriteTransaction(engine: engine, base: base, pool: engine.core.pool)
        transaction.redo.abandon()
        transaction.unwrittenMax = .max
        last = base.number
        self.transaction = transaction
        return transaction
    }

    /// Publishes a version with the transactions applied so far.
    func finish() {
        guard let transaction else { return }
        self.transaction = nil
        let version = transaction.makeVersion()
        let (retired, _) = engine.record(transaction)
        engine.core.pipeline.publishReplayed(version, retired: retired)
        transaction.finishReplay()
        engine.core.pipeline.endTurn()
    }
}
