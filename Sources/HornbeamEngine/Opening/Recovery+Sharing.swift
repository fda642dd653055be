// Opens a store that several processes write in turns.
//
// An opening that gets the turn before any other process recovers the store like each opening for writing. Beside other processes, an opening
// reads the newest durable version as a reader does, and takes the turn with its first transaction.

import Glibc
import HornbeamThreads

extension Recovery {
    func openShared() throws(EngineError) -> Engine {
        let new = try createUnlessOtherDoes()
        let lock = try fileSystem.share(metaPath, recordingHolderIn: lockPath)
        do throws(EngineError) {
            try lock.verify()
            var recovery = self
            let turn = ProcessTurn(
                lock, path: path, usesThread: options.usesBackgroundThread, limit: options.busyTimeout.nanoseconds,
                mayStartThread: options.mayStartThread)
            recovery.sharing = StoreSharing(turn: turn, lifecycle: Lifecycle(path: path))
            return try recovery.open(turn, new)
        } catch {
            lock.release()
            throw error
        }
    }

    /// Creates the store if it is missing. Another process may create it at the same time.
    private func createUnlessOtherDoes() throws(EngineError) -> StoreCreation.NewStore? {
        do throws(EngineError) { return try createIfMissing() } catch {
            guard error.code == .notAStore || error.code == .inputOutput, try fileSystem.exists(metaPath) else { throw error }
            return nil
        }
    }

    private func open(_ turn: ProcessTurn, _ new: StoreCreation.NewStore?) throws(EngineError) -> Engine {
        let end = MonotonicClock.nanoseconds &+ options.busyTimeout.nanoseconds
        while true {
            if try turn.lock.tryTakeTurn() { return try openWithTurn(turn, new) }
            do throws(EngineError) {
                let engine = try openForReading()
                engine.start(turn, isHeld: false)
                return engine
            } catch {
                // The process that has the turn may be recovering the store.
                guard error.code == .damaged || error.code == .logDamaged, MonotonicClock.nanoseconds < end else { throw error }
            }
        }
    }

    private func openWithTurn(_ turn: ProcessTurn, _ new: StoreCreation.NewStore?) throws(EngineError) -> Engine {
        if try turn.lock.isRecovered() {
            do throws(EngineError) {
                let engine = try openForReading()
                try engine.takeOver()
                engine.start(turn, isHeld: true)
                return engine
            } catch {
                guard error.code == .damaged || error.code == .logDamaged else { throw error }
            }
        }
        let (engine, log) = try openForWriting(turn.lock, new)
        try engine.readerPosition?.place.withLock { (place) throws(EngineError) in try engine.startWriting(log, &place) }
        engine.start(turn, isHeld: true)
        return engine
    }
}
