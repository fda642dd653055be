// A lock with two conditions, for state that threads wait upon.
//
// Made of POSIX threads rather than of `Synchronization.Mutex`: that one has no way to wait, and its slow path lies in a
// library that ThreadSanitizer does not see into on Linux, so that it reports races where there are none.

package import Glibc

/// A lock that is not recursive, and two things that threads can wait for while they give it up.
@safe package final class Monitor: Sendable {
    /// What threads wait for.
    package enum Condition: Sendable { case turn, progress }

    @unsafe @usableFromInline package struct Cells {
        @usableFromInline var mutex = unsafe pthread_mutex_t()
        @usableFromInline var turn = pthread_cond_t()
        @usableFromInline var progress = pthread_cond_t()
    }

    @usableFromInline
    nonisolated(unsafe) package let cells: UnsafeMutablePointer<Cells>  // fixed at init; a lock guards itself

    package init() {
        unsafe cells = .allocate(capacity: 1)
        unsafe cells.initialize(to: unsafe Cells())
        unsafe pthread_mutex_init(&cells.pointee.mutex, nil)
        unsafe pthread_cond_init(&cells.pointee.turn, nil)
        unsafe pthread_cond_init(&cells.pointee.progress, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(&cells.pointee.mutex)
        unsafe pthread_cond_destroy(&cells.pointee.turn)
        unsafe pthread_cond_destroy(&cells.pointee.progress)
        unsafe cells.deallocate()
    }

    @inlinable package func lock() { unsafe pthread_mutex_lock(&cells.pointee.mutex) }
    @inlinable package func unlock() { unsafe pthread_mutex_unlock(&cells.pointee.mutex) }

    @inlinable
    package func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        lock()
        defer { unlock() }
        return try body()
    }

    /// Gives the lock up until the condition is signalled.
    package func wait(_ condition: Condition) {
        switch condition {
        case .turn: unsafe pthread_cond_wait(&cells.pointee.turn, &cells.pointee.mutex)
        case .progress: unsafe pthread_cond_wait(&cells.pointee.progress, &cells.pointee.mutex)
        }
    }

    /// The same, for this long at most.
    package func wait(_ condition: Condition, milliseconds: Int) {
        var until = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &until)
        until.tv_sec += milliseconds / 1000
        until.tv_nsec += milliseconds % 1000 * 1_000_000
        if until.tv_nsec >= 1_000_000_000 {
            until.tv_sec += 1
            until.tv_nsec -= 1_000_000_000
        }
        switch condition {
        case .turn: unsafe pthread_cond_timedwait(&cells.pointee.turn, &cells.pointee.mutex, &until)
        case .progress: unsafe pthread_cond_timedwait(&cells.pointee.progress, &cells.pointee.mutex, &until)
        }
    }

    /// Wakes one thread that waits.
    package func signal(_ condition: Condition) {
        switch condition {
        case .turn: unsafe pthread_cond_signal(&cells.pointee.turn)
        case .progress: unsafe pthread_cond_signal(&cells.pointee.progress)
        }
    }

    /// Wakes all threads that wait.
    package func signalAll(_ condition: Condition) {
        switch condition {
        case .turn: unsafe pthread_cond_broadcast(&cells.pointee.turn)
        case .progress: unsafe pthread_cond_broadcast(&cells.pointee.progress)
        }
    }
}
