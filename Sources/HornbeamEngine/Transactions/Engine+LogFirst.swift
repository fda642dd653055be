// Commits a small transaction on the log-first fast path (Commit/CommitPipeline+LogFirst.swift).

extension Engine {
    /// The number of frames that deferred changes may need. Each change copies the path to a leaf, and may split all nodes on it.
    private static let framesOfDeferredChanges = 256

    /// Commits a transaction with deferred changes, and applies them while the device writes the log. Returns nil, and does nothing, if the
    /// transaction must take the usual path. The caller has the turn, which ends here unless the result is nil.
    func commitLogFirst(
        _ transaction: WriteTransaction, steps: CommitSteps, published: (@Sendable (TransactionNumber) -> Void)?
    ) throws(EngineError) -> TransactionNumber? {
        let core = self.core
        guard transaction.isDeferred, !core.room.state.acceptsOnlyFreeing, core.pool.hasRoom(for: Engine.framesOfDeferredChanges) else { return nil }
        assert(transaction.ended.isEmpty && transaction.ledger.newBlobs.isEmpty, "Deferred changes are those of one small transaction.")
        let payload = transaction.redo.bytes
        let logged = TransactionRecord(number: transaction.number, payload: payload, frees: false)
        let mark: LogMark
        do throws(EngineError) {
            guard let end = try core.pipeline.writeLogFirst(logged, on: transaction.base) else { return nil }
            mark = end
        } catch {
            abort(transaction)
            throw error
        }
        steps.written?()
        do throws(EngineError) { try transaction.applyDeferred() } catch {
            let poisoned = core.pipeline.failLogFirst(error)
            abort(transaction)
            throw poisoned
        }
        let version = transaction.makeVersion()
        assert(version.number == logged.number, "The log and the version have the same number.")
        assert(transaction.redo.bytes == payload, "Applying deferred changes records nothing again.")
        let (retired, born) = record(transaction)
        core.pipeline.setExecuted(version)
        core.pipeline.endTurn()
        steps.executed()
        let commit = CommitPipeline.Commit(
            version: version, payload: payload, frees: false, needsSync: true, syncWithin: 0, retired: retired, born: born,
            published: published)
        do throws(EngineError) { try core.pipeline.finishLogFirst(commit, mark) } catch {
            steps.logged(false)
            throw error
        }
        steps.logged(true)
        return version.number
    }
}
