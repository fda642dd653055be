// The log-first fast path of a small transaction without concurrent writers: the log is written before the trees are changed. The device
// stores the log while the trees are changed, so the sync that follows takes less time, and its thread often need not sleep.
//
// Invariant: from `writeLogFirst` to `finishLogFirst` (or `failLogFirst`) the writer is the leader of a batch with this transaction only; other
// commits wait in the queue. It also has the writer's turn until its version is made.

import HornbeamThreads
import Synchronization

extension CommitPipeline {
    /// Logs a transaction that is not applied yet. The caller has the turn, and is the leader afterwards.
    ///
    /// Returns nil, and does nothing, if other commits are in progress or wait, if commits are throttled for a checkpoint, or if the log's
    /// segment or the disk has no room.
    func writeLogFirst(_ record: TransactionRecord, on base: StoreVersion) throws(EngineError) -> LogMark? {
        guard let log = try beginLogFirst(on: base) else { return nil }
        do throws(EngineError) {
            if let mark = try log.appendLogFirst(record) { return mark }
        } catch {
            // The disk is full and the log is unchanged. The usual path tries to free space.
            guard error.code == .full else { throw failLogFirst(error) }
        }
        endLogFirst()
        return nil
    }

    private func beginLogFirst(on base: StoreVersion) throws(EngineError) -> LogWriter? {
        guard lag() == 0 else { return nil }
        return try monitor.withLock { () throws(EngineError) in
            try lifecycle.require(.commit)
            guard unsafe state.executed === base else { throw undoneError }
            let isAlone = unsafe !turn.isAwaited && state.pending.isEmpty && !state.isFlushing
            guard isAlone, let log = unsafe state.log else { return nil }
            unsafe state.isFlushing = true
            registry.pool.files.writersAtWork.wrappingAdd(1, ordering: .relaxed)
            return log
        }
    }

    private func endLogFirst() {
        registry.pool.files.writersAtWork.wrappingSubtract(1, ordering: .relaxed)
        monitor.withLock {
            assert(unsafe state.isFlushing, "The writer leads until the fast path ends.")
            unsafe state.isFlushing = false
            monitor.signalAll(.progress)
        }
    }

    /// Makes the version of the applied transaction the base of the next transaction.
    func setExecuted(_ version: StoreVersion) {
        monitor.withLock {
            assert(unsafe state.isFlushing && version.number > state.executed.number, "The logged transaction follows the newest version.")
            unsafe state.executed = version
        }
    }

    /// Makes the transaction durable and publishes it.
    func finishLogFirst(_ commit: Commit, _ mark: LogMark) throws(EngineError) {
        var failure: EngineError?
        do throws(EngineError) { try syncLogFirst() } catch { failure = error }
        finish([commit], mark, synced: true, failure)
        defer { monitor.unlock() }
        if failure != nil { try lifecycle.require(.commit) }
    }

    private func syncLogFirst() throws(EngineError) {
        guard let log = monitor.withLock({ unsafe state.log }) else { throw EngineError(.closed, "The store is closed.") }
        _ = try log.sync()
    }

    /// Poisons the store, because the logged transaction could not be applied, or the log could not be written.
    func failLogFirst(_ error: EngineError) -> EngineError {
        registry.pool.files.writersAtWork.wrappingSubtract(1, ordering: .relaxed)
        return monitor.withLock {
            fail([], error, logged: true)
            unsafe state.isFlushing = false
            monitor.signalAll(.progress)
            return lifecycle.refusal(of: .commit) ?? error
        }
    }
}
