// A small number for each thread. As an index of per-thread data, it makes frequent operations possible without a search and a lock.

package import Glibc
import Synchronization

/// Numbers for threads. A thread has a number from its first call of `make()` until it ends. Then another thread may get the number.
package enum ThreadNumber {
    /// The key of the thread-specific value, which is the thread's number plus one. Reading it with `pthread_getspecific` is fast.
    package static let key: pthread_key_t = {
        var key = pthread_key_t()
        let status = unsafe pthread_key_create(&key) { value in ThreadNumber.free(Int(bitPattern: value) - 1) }
        precondition(status == 0, "The process has no room for another thread-specific key: it uses all \(PTHREAD_KEYS_MAX).")
        return key
    }()

    /// All assigned numbers are below this.
    package static var end: Int { highest.load(ordering: .acquiring) }

    private static let highest = Atomic(0)
    private static let lock = Monitor()
    nonisolated(unsafe) private static var unused: [Int] = []  // under the lock

    /// Assigns a number to the calling thread, which must not have one.
    ///
    /// Locks directly, so that the lock is no scheduling point of an interleaving: only the first use by a thread would have this point.
    package static func make() -> Int {
        lock.lockDirectly()
        let number = unsafe unused.popLast() ?? highest.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
        lock.unlockDirectly()
        _ = unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: number + 1))
        return number
    }

    private static func free(_ number: Int) {
        lock.lockDirectly()
        unsafe unused.append(number)
        lock.unlockDirectly()
    }
}
