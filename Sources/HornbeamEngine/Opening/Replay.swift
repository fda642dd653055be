// Applies the transactions of a log to the newest version.
//
// They are applied as one transaction, so that a leaf is copied once, even if a thousand transactions change it. The states in between cannot
// be read. If the log may be damaged and its readable part is wanted, each transaction makes a version of its own.
// Invariant: after an error the engine has the last finished version.

/// The replay of a log. Used by one thread. If it is released before `finish`, the changes since the last version are dropped.
final class Replay {
    private let engine: Engine
    /// True if each transaction makes a version.
    private let keepsEach: Bool
    private var transaction: WriteTransaction?
    private var last = TransactionNumber.zero

    init(_ engine: Engine, keepsEach: Bool) {
        self.engine = engine
        self.keepsEach = keepsEach
    }

    /// Applies one transaction, which must be the next.
    func apply(_ payload: Bytes, as number: TransactionNumber) throws(EngineError) {
        let transaction = try current()
        guard last.next == number else {
            throw EngineError(.damaged, "The log holds transaction \(number) where \(last.next) should follow.")
        }
        try transaction.replay(payload)
        transaction.number = number
        last = number
        if keepsEach { finish() }
    }

    private func current() throws(EngineError) -> WriteTransaction {
        if let transaction { return transaction }
        let base = try engine.core.pipeline.takeTurn()
        let transaction = WriteTransaction(engine: engine, base: base, pool: engine.core.pool)
        transaction.redo.abandon()
        last = base.number
        self.transaction = transaction
        return transaction
    }

    /// Makes a version of what was applied.
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
