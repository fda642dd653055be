// Transactions that an engine for reading applies in memory and never logs. They are the prepared parts of two-phase commits whose commit
// record exists in another store, but that no writer has applied yet. Their blobs are in memory too. The next transaction of a writer gets
// the same number; the next refresh then starts again from the checkpoint.

import HornbeamThreads

extension Engine {
    /// Applies a transaction in the memory of an engine that was opened for reading, and publishes its version.
    ///
    /// If `body` throws, nothing changes.
    package func overlay(_ body: (WriteTransaction) throws -> Void) throws {
        guard readerPosition != nil, sharing == nil else {
            preconditionFailure("Only an engine that was opened for reading applies transactions without logging them.")
        }
        try requireOwnProcess()
        let core = core
        let transaction = WriteTransaction(engine: self, base: try core.pipeline.takeTurn(), pool: core.pool)
        transaction.unwrittenMax = .max
        do {
            try body(transaction)
            try transaction.finishChanges()
            // Pages that were written early may be evicted, and then are read from their files.
            try transaction.earlyLeaves?.flush()
        } catch {
            transaction.abort()
            throw error
        }
        let version = transaction.makeVersion()
        let (retired, _) = record(transaction)
        core.pipeline.publishReplayed(version, retired: retired)
        transaction.finishReplay()
        transaction.earlyLeaves?.end()
        core.pipeline.endTurn()
    }
}
