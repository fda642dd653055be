// Counts the locks that the threads of an interleaving take, and measures how long they hold them. Work under a lock that several
// threads take cannot run in parallel, so the longest of these times limits the number of processors that an operation can use.

/// The locks that the threads of an interleaving took.
///
/// The threads run one at a time, so no time contains a wait for another thread's lock. The time that the interleaving itself takes is left out.
package struct LockCensus: Sendable {
    /// The uses of one lock.
    package struct Lock: Sendable {
        /// The place in the source at which the lock was made.
        package let origin: String
        /// How often it was taken.
        package fileprivate(set) var count = 0
        /// The time for which it was held, in nanoseconds.
        package fileprivate(set) var nanoseconds: UInt64 = 0
        /// The threads that took it, by number.
        fileprivate var threads: Set<Int> = []

        /// True if more than one thread took it.
        package var isShared: Bool { threads.count > 1 }
    }

    /// A lock that is held now.
    private struct Hold {
        let start: UInt64
        /// The time of the interleaving itself before the hold.
        let overhead: UInt64
    }

    /// A lock by its address, or exclusive work by its name.
    enum Key: Hashable, Sendable { case lock(UInt), work(String) }

    private var locks: [Key: Lock] = [:]
    private var holds: [Key: Hold] = [:]
    private var overhead: UInt64 = 0

    /// The locks that more than one thread took, the longest held first.
    package var shared: [Lock] {
        locks.values.filter(\.isShared).sorted { ($0.nanoseconds, $0.origin) > ($1.nanoseconds, $1.origin) }
    }

    /// A thread has taken a lock. `start` is the time at which the interleaving began to take it.
    mutating func take(_ key: Key, _ origin: @autoclosure () -> String, by thread: Int, since start: UInt64) {
        var lock = locks[key] ?? Lock(origin: origin())
        lock.count += 1
        lock.threads.insert(thread)
        locks[key] = lock
        let now = MonotonicClock.systemNanoseconds
        overhead += now - start
        holds[key] = Hold(start: now, overhead: overhead)
    }

    /// A thread releases a lock at the time `end`.
    mutating func release(_ key: Key, at end: UInt64) {
        if let hold = holds.removeValue(forKey: key) {
            let other = overhead - hold.overhead
            locks[key]?.nanoseconds += max(end - hold.start, other) - other
        }
        overhead += MonotonicClock.systemNanoseconds - end
    }
}
