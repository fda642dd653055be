#if Postgres
internal import HornbeamThreads

/// The end of a wait, by the monotonic clock.
struct Deadline: Sendable {
    private let end: UInt64

    init(after time: Duration) {
        let parts = max(time, .zero).components
        let seconds = min(UInt64(parts.seconds), 1 << 32)
        end = MonotonicClock.nanoseconds + seconds * 1_000_000_000 + UInt64(parts.attoseconds / 1_000_000_000)
    }

    var isOver: Bool { MonotonicClock.nanoseconds >= end }

    /// The rest of the time, rounded up, and at most the given time.
    func milliseconds(atMost limit: Int) -> Int {
        let now = MonotonicClock.nanoseconds
        return now >= end ? 0 : min(limit, Int((end - now + 999_999) / 1_000_000))
    }
}
#endif
