// A lock with two conditions, for state that threads wait upon.

import Glibc

/// Guards the state of the commit pipeline; `Mutex` has no way to wait.
@safe final class Monitor: Sendable {
    /// What threads wait for.
    enum Condition { case turn, progress }

    nonisolated(unsafe) private let mutex: UnsafeMutablePointer<pthread_mutex_t>  // a lock guards itself
    nonisolated(unsafe) private let turn: UnsafeMutablePointer<pthread_cond_t>  // used under the lock
    nonisolated(unsafe) private let progress: UnsafeMutablePointer<pthread_cond_t>  // used under the lock

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe turn = .allocate(capacity: 1)
        unsafe progress = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(turn, nil)
        unsafe pthread_cond_init(progress, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe pthread_cond_destroy(turn)
        unsafe pthread_cond_destroy(progress)
        unsafe mutex.deallocate()
        unsafe turn.deallocate()
        unsafe progress.deallocate()
    }

    func lock() { unsafe pthread_mutex_lock(mutex) }
    func unlock() { unsafe pthread_mutex_unlock(mutex) }

    func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        lock()
        defer { unlock() }
        return try body()
    }

    private func cell(_ condition: Condition) -> UnsafeMutablePointer<pthread_cond_t> {
        condition == .turn ? unsafe turn : unsafe progress
    }

    /// Gives the lock up until the condition is signalled.
    func wait(_ condition: Condition) { unsafe pthread_cond_wait(cell(condition), mutex) }

    /// The same, for this long at most.
    func wait(_ condition: Condition, milliseconds: Int) {
        var until = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &until)
        until.tv_sec += milliseconds / 1000
        until.tv_nsec += milliseconds % 1000 * 1_000_000
        if until.tv_nsec >= 1_000_000_000 {
            until.tv_sec += 1
            until.tv_nsec -= 1_000_000_000
        }
        unsafe pthread_cond_timedwait(cell(condition), mutex, &until)
    }

    func signalAll(_ condition: Condition) { unsafe pthread_cond_broadcast(cell(condition)) }
}
