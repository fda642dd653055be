// A lock with two conditions, for state on which threads wait.
//
// It uses a POSIX mutex instead of `Synchronization.Mutex`, which has no conditions. ThreadSanitizer on Linux also cannot
// instrument the slow path of `Synchronization.Mutex` and reports false races. On a thread of an `Interleaving`,
// each call is a scheduling point, at which another thread may run.

import Glibc

/// A lock that is not recursive, with two conditions. Waiting for a condition releases the lock.
@safe @usableFromInline package final class Monitor: Sendable {
    /// The conditions that threads wait for.
    package enum Condition: Sendable { case turn, progress }

    /// The source location at which a lock was made, for reports.
    struct Origin: Sendable, CustomStringConvertible {
        let file: StaticString
        let line: UInt
        var description: String { "\(file):\(line)" }
    }

    nonisolated(unsafe) private let mutex: UnsafeMutablePointer<pthread_mutex_t>  // a mutex is thread-safe
    nonisolated(unsafe) private let turn: UnsafeMutablePointer<pthread_cond_t>  // used under the lock
    nonisolated(unsafe) private let progress: UnsafeMutablePointer<pthread_cond_t>  // used under the lock
    let origin: Origin
    private static let clock = CLOCK_MONOTONIC

    @usableFromInline package init(file: StaticString = #fileID, line: UInt = #line) {
        origin = Origin(file: file, line: line)
        unsafe mutex = .allocate(capacity: 1)
        unsafe turn = .allocate(capacity: 1)
        unsafe progress = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        // Timed waits use the monotonic clock, so that a change of the system time does not change their length.
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, Monitor.clock)
        unsafe pthread_cond_init(turn, &attributes)
        unsafe pthread_cond_init(progress, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe pthread_cond_destroy(turn)
        unsafe pthread_cond_destroy(progress)
        unsafe mutex.deallocate()
        unsafe turn.deallocate()
        unsafe progress.deallocate()
    }

    @usableFromInline package func lock() {
        if let thread = Interleaving.current { thread.lock(self) } else { lockDirectly() }
    }

    @usableFromInline package func unlock() {
        if let thread = Interleaving.current { thread.unlock(self) } else { unlockDirectly() }
    }

    @inlinable
    package func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        lock()
        defer { unlock() }
        return try body()
    }

    /// Releases the lock, waits until the condition is signalled, and locks again.
    package func wait(_ condition: Condition) {
        if let thread = Interleaving.current { return thread.wait(self, address(condition)) }
        unsafe pthread_cond_wait(cell(condition), mutex)
    }

    /// Waits for the condition, at most for the given time.
    package func wait(_ condition: Condition, milliseconds: Int) { wait(condition, nanoseconds: milliseconds * 1_000_000) }

    /// Waits for the condition, at most for the given time.
    package func wait(_ condition: Condition, nanoseconds: Int) {
        if let thread = Interleaving.current { return thread.wait(self, address(condition), limit: nanoseconds) }
        var until = timespec()
        unsafe clock_gettime(Monitor.clock, &until)
        let end = until.tv_nsec + nanoseconds
        until.tv_sec += end / 1_000_000_000
        until.tv_nsec = end % 1_000_000_000
        unsafe pthread_cond_timedwait(cell(condition), mutex, &until)
    }

    /// Wakes one thread that waits for the condition.
    package func signal(_ condition: Condition) {
        Interleaving.current?.signal(address(condition), all: false)
        unsafe pthread_cond_signal(cell(condition))
    }

    /// Wakes all threads that wait for the condition.
    package func signalAll(_ condition: Condition) {
        Interleaving.current?.signal(address(condition), all: true)
        unsafe pthread_cond_broadcast(cell(condition))
    }

    // MARK: The mutex and the conditions

    func lockDirectly() { unsafe pthread_mutex_lock(mutex) }
    func unlockDirectly() { unsafe pthread_mutex_unlock(mutex) }
    func tryLock() -> Bool { unsafe pthread_mutex_trylock(mutex) == 0 }

    /// The identity of the lock.
    var address: UInt { unsafe UInt(bitPattern: mutex) }

    private func address(_ condition: Condition) -> UInt { unsafe UInt(bitPattern: cell(condition)) }

    private func cell(_ condition: Condition) -> UnsafeMutablePointer<pthread_cond_t> {
        condition == .turn ? unsafe turn : unsafe progress
    }
}
