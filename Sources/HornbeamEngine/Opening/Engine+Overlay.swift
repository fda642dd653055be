// Transactions that an engine opened for reading shows and never writes: what another store decided about this one, and no
// writer has carried out yet. They live in memory alone, large values too. The log, once a writer goes on in it, has a
// transaction of the same number; the next refresh then begins anew from the checkpoint.

import HornbeamThreads

extension Engine {
    /// Carries out a transaction in the memory of an engine that was opened for reading; it is the newest state then.
    ///
    /// What the body throws leaves the state as it was.
    package func overlay(_ body: (WriteTransaction) throws -> Void) throws {
        guard follower != nil else { preconditionFailure("Only an engine that was opened for reading shows what it does not write.") }
        try requireOwnProcess()
        let core = core
        let transaction = WriteTransaction(engine: self, base: try core.pipeline.takeTurn(), pool: core.pool)
        do {
            try body(transaction)
            try transaction.carryOutWaiting()
        } catch {
            transaction.abort()
            throw error
        }
        let version = transaction.makeVersion()
        let (retired, _) = record(transaction)
        core.pipeline.adopt(version, retired: retired)
        transaction.finishReplay()
        core.pipeline.endTurn()
    }
}
