// Distinguishes a forked process from its parent. A child has the parent's memory and descriptors, but only the thread that
// forked. In the child, locks that other threads held stay locked, and other threads cannot be joined.

internal import Glibc
import Synchronization

/// The number of forks between this process and the ancestor that first called `watch()`.
package enum ProcessForks {
    /// Larger in a child than in its parent. Cheap: one load.
    @inline(__always)
    package static var count: Int { counter.load(ordering: .relaxed) }

    private static let counter = Atomic(0)
    /// The C library calls the handler in each child that it forks. It does not call the handler in a child made by a direct system call.
    private static let isWatching = pthread_atfork(nil, nil, { counter.wrappingAdd(1, ordering: .relaxed) }) == 0

    /// Counts forks from now on, and returns the current number.
    package static func watch() -> Int {
        _ = isWatching
        return count
    }
}
