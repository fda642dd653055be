// Transactions that an engine opened for reading applies in memory and never writes: decisions of another store about this one that no
// writer has applied yet. They exist in memory only, with their blobs. When a writer continues the log, it logs a transaction with the same
// number; the next refresh then starts again from the checkpoint.

import HornbeamThreads

extension Engine {
    /// Applies a transaction in the memory of an engine that was opened for reading, as its newest state.
    ///
    /// An error of the body changes nothing.
    package func overlay(_ body: (WriteTransaction) throws -> Void) throws {
        guard readerPosition != nil else { preconditionFailure("Only an engine that was opened for reading applies transactions without logging them.") }
        try requireOwnProcess()
        let core = core
        let transaction = WriteTransaction(engine: self, base: try core.pipeline.takeTurn(), pool: core.pool)
        do {
            try body(transaction)
            try transaction.applyDeferred()
        } catch {
            transaction.abort()
            throw error
        }
        let version = transaction.makeVersion()
        let (retired, _) = record(transaction)
        core.pipeline.publishReplayed(version, retired: retired)
        transaction.finishReplay()
        core.pipeline.endTurn()
    }
}
