// A big transaction writes its leaves when they fill half of the pool (Checkpoint/EarlyLeaves.swift).

extension WriteTransaction {
    /// Writes the leaves that the transaction has made, if there are many and the commit will write pages instead of redo.
    func writeLeavesEarly() throws(EngineError) {
        guard redo.isAbandoned, ledger.unwritten >= unwrittenMax else { return }
        let leaves = earlyLeaves ?? EarlyLeaves(engine.core)
        earlyLeaves = leaves
        do throws(EngineError) {
            try leaves.write(treesInProgress(), of: ledger, checkpoint: engine.newestCheckpoint)
        } catch {
            hasFailed = true
            throw error
        }
        // Inner nodes stay in memory, and may be many.
        unwrittenMax = max(unwrittenMax, ledger.unwritten + ledger.pool.capacity / 4)
    }
}
