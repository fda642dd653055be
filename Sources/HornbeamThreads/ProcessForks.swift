// Distinguishes a forked process from its parent. A child has the parent's memory and descriptors but only one of its
// threads: locks that other threads held stay locked there, and threads that would be joined do not exist.

internal import Glibc
import Synchronization

/// How often this process, or one that it descends from, was forked, as seen from the child.
package enum ProcessForks {
    /// Larger in a child than in its parent. Cheap: one load.
    @inline(__always)
    package static var count: Int { counter.load(ordering: .relaxed) }

    private static let counter = Atomic(0)
    /// The C library calls the handler in each child that it forks. A child made by a bare system call goes unnoticed here.
    private static let isWatching = pthread_atfork(nil, nil, { counter.wrappingAdd(1, ordering: .relaxed) }) == 0

    /// Counts forks from now on, and returns how many there were.
    package static func watch() -> Int {
        _ = isWatching
        return count
    }
}
