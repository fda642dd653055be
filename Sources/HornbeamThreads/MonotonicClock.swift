// The clock that measures waits and ages. Setting the time of day does not change it.

internal import Glibc

/// The monotonic clock of the system.
package enum MonotonicClock {
    /// Nanoseconds since an arbitrary moment before the start of the process. A thread of an `Interleaving` gets the interleaving's time.
    package static var nanoseconds: UInt64 {
        if let thread = Interleaving.current { return thread.now }
        return systemNanoseconds
    }

    static var systemNanoseconds: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
