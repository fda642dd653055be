// The short way of a small transaction that finds nobody else at work: the log has it before its trees are changed, and while they are
// the device writes. So the sync that follows finds the bytes written, and need not wait for them asleep.
//
// What holds: from `writeAhead` to `concludeAhead` (or `fail(ahead:)`) its writer has the turn until the version is made, and leads a
// group of its own; whoever comes meanwhile queues behind it.

import HornbeamThreads
import Synchronization

extension CommitPipeline {
    /// Gives the log a transaction that is not carried out yet. The caller has the turn, and leads from now on.
    ///
    /// Nil, with nothing done, where others write or wait to, where commits rest for a checkpoint, or where the log's segment or the disk has
    /// no room.
    func writeAhead(_ record: TransactionRecord, on base: StoreVersion) throws(EngineError) -> LogMark? {
        guard let log = try beginAhead(on: base) else { return nil }
        do throws(EngineError) {
            if let mark = try log.appendAhead(record) { return mark }
        } catch {
            // A full disk: nothing is logged, and the usual way tries what can be done about it.
            guard error.code == .full else { throw fail(ahead: error) }
        }
        endAhead()
        return nil
    }

    private func beginAhead(on base: StoreVersion) throws(EngineError) -> LogWriter? {
        guard lag() == 0 else { return nil }
        return try monitor.withLock { () throws(EngineError) in
            if let failure = unsafe state.failure { throw failure }
            guard unsafe state.executed === base else { throw undoneError }
            let isAlone = unsafe state.nextTicket == state.serving + 1 && state.pending.isEmpty && !state.isFlushing
            guard isAlone, let log = unsafe state.log else { return nil }
            unsafe state.isFlushing = true
            registry.writersAtWork.wrappingAdd(1, ordering: .relaxed)
            return log
        }
    }

    private func endAhead() {
        registry.writersAtWork.wrappingSubtract(1, ordering: .relaxed)
        monitor.withLock {
            unsafe state.isFlushing = false
            monitor.signalAll(.progress)
        }
    }

    /// The transaction is carried out: its version is the newest, and the next may build on it.
    func adopt(ahead version: StoreVersion) { monitor.withLock { unsafe state.executed = version } }

    /// Makes it durable and publishes it.
    func concludeAhead(_ commit: Commit, _ mark: LogMark) throws(EngineError) {
        var failure: EngineError?
        do throws(EngineError) { try syncAhead() } catch { failure = error }
        conclude([commit], mark, synced: true, failure)
        defer { monitor.unlock() }
        if failure != nil, let poisoned = unsafe state.failure { throw poisoned }
    }

    private func syncAhead() throws(EngineError) {
        guard let log = monitor.withLock({ unsafe state.log }) else { throw EngineError(.closed, "The store is closed.") }
        _ = try log.sync()
    }

    /// What the log may have cannot be carried out, or the log could not be written: no more commits until the store is opened again.
    func fail(ahead error: EngineError) -> EngineError {
        registry.writersAtWork.wrappingSubtract(1, ordering: .relaxed)
        return monitor.withLock {
            fail([], error, logged: true)
            unsafe state.isFlushing = false
            monitor.signalAll(.progress)
            return unsafe state.failure ?? error
        }
    }
}
