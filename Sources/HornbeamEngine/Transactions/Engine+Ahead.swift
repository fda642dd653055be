// Committing a small transaction the short way; Transactions/CommitPipeline+Ahead.swift says why.

extension Engine {
    /// Frames that a few changes may take: each copies the way to a leaf, and may split all nodes on it.
    private static let framesOfSmall = 256

    /// Commits a transaction whose changes wait, and carries them out while the device writes the log; nil, with nothing done, where it
    /// has to take the usual way. The caller has the turn, which ends here, unless the answer is nil.
    func commitAhead(
        _ transaction: WriteTransaction, steps: CommitSteps, published: (@Sendable (TransactionNumber) -> Void)?
    ) throws(EngineError) -> TransactionNumber? {
        guard transaction.isWaiting, !core.reserve.isSpent, core.pool.hasRoom(for: Engine.framesOfSmall) else { return nil }
        let payload = transaction.redo.bytes
        let logged = TransactionRecord(number: transaction.number, payload: payload, frees: false)
        let mark: LogMark
        do throws(EngineError) {
            guard let end = try core.pipeline.writeAhead(logged, on: transaction.base) else { return nil }
            mark = end
        } catch {
            abort(transaction)
            throw error
        }
        do throws(EngineError) { try transaction.carryOutWaiting() } catch {
            let poisoned = core.pipeline.fail(ahead: error)
            abort(transaction)
            throw poisoned
        }
        let version = transaction.makeVersion()
        let (retired, born) = record(transaction)
        core.pipeline.adopt(ahead: version)
        core.pipeline.endTurn()
        steps.executed()
        let commit = CommitPipeline.Commit(
            version: version, payload: payload, frees: false, needsSync: true, syncWithin: 0, retired: retired, born: born,
            published: published)
        do throws(EngineError) { try core.pipeline.concludeAhead(commit, mark) } catch {
            steps.logged(false)
            throw error
        }
        steps.logged(true)
        return version.number
    }
}
