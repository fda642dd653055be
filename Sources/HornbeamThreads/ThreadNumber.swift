// A small number for each thread, so that what threads do often needs no search and no lock to find its own cell.

package import Glibc
import Synchronization

/// The numbers of the threads that have asked for one. A number is its thread's own until the thread ends; then another may get it.
package enum ThreadNumber {
    /// The key under which a thread keeps its number plus one. For frequent reads: `pthread_getspecific(key)` is one load.
    package static let key: pthread_key_t = {
        var key = pthread_key_t()
        let status = unsafe pthread_key_create(&key) { value in ThreadNumber.free(Int(bitPattern: value) - 1) }
        precondition(status == 0, "The process has no room for another key of threads: it uses all \(PTHREAD_KEYS_MAX).")
        return key
    }()

    /// All numbers given so far are below this.
    package static var end: Int { highest.load(ordering: .acquiring) }

    private static let highest = Atomic(0)
    private static let lock = Monitor()
    nonisolated(unsafe) private static var unused: [Int] = []  // under the lock

    /// Gives the calling thread, which has none, a number.
    ///
    /// The lock is no place where another thread may go on in an interleaving: threads ask for numbers when they first need one.
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
