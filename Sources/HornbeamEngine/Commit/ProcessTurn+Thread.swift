// The thread that takes the turn of a process, waits for the requests of other processes, and follows their commits. It keeps the turn's object
// alive, but not the engine. It may be blocked in a call of the operating system when the store is closed; then it ends when that call returns.

import Glibc
import HornbeamThreads

extension ProcessTurn {
    /// Starts the thread. False if the system refuses one.
    func startThread() -> Bool {
        guard mayStartThread() else { return false }
        let turn = unsafe Unmanaged.passRetained(self).toOpaque()
        var thread = pthread_t()
        let created = unsafe pthread_create(
            &thread, nil,
            { argument in
                let turn = unsafe Unmanaged<ProcessTurn>.fromOpaque(argument!).takeRetainedValue()
                turn.serve()
                return nil
            }, turn)
        guard created == 0 else {
            unsafe Unmanaged<ProcessTurn>.fromOpaque(turn).release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    /// Takes the turn for waiting transactions, and hands it over to processes that ask for it, until the turn ends.
    func serve() {
        monitor.lock()
        while unsafe !state.isEnding {
            switch unsafe state.phase {
            case .away where unsafe state.waiters > 0: take()
            case .away where unsafe state.isFollowing: listen()
            case .held:
                monitor.unlock()
                lock.waitForRequest()
                let isRequested = (try? lock.isTurnRequested()) ?? false
                monitor.lock()
                if isRequested { handOverToOthers() }
            case .away, .waiting, .taking, .leaving: monitor.wait(.progress)
            }
        }
        monitor.unlock()
    }

    /// The longest pause after commits of other processes were read, in milliseconds. It limits the processor time of following a busy process.
    private static let pauseAfterCommitsMax: Int32 = 15

    /// Reads the commits of other processes, or waits for one. The caller has the monitor, which is released meanwhile.
    private func listen() {
        unsafe state.isListening = true
        let pause = unsafe state.pauseAfterCommits
        monitor.unlock()
        lock.watchCommits()
        // A commit after the beginning of the watch ends the wait, so none is missed.
        let found = unsafe work?.catchUp() ?? false
        if found { lock.pause(milliseconds: pause) } else { lock.waitForCommit() }
        monitor.lock()
        unsafe state.isListening = false
        unsafe state.pauseAfterCommits = found ? min(pause * 2, Self.pauseAfterCommitsMax) : 1
    }

    private func handOverToOthers() {
        unsafe state.isRequested = true
        while unsafe state.phase == .held && !state.isEnding {
            let now = MonotonicClock.nanoseconds
            let isPausing = unsafe state.isUnused && Int(now) - Int(state.lastExit) >= pauseMax
            if unsafe state.isUnused && (isPausing || now >= state.turnEnd) { return leave() }
            if unsafe now < state.turnEnd { monitor.wait(.progress, nanoseconds: pauseMax) } else { monitor.wait(.progress) }
        }
    }
}
