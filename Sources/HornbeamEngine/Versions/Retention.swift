// The retention of replaced versions: their number and age, and the age at which the snapshots of readers expire.

import HornbeamThreads

/// The limits for the retention and the expiry of replaced versions.
package struct Retention: Sendable {
    /// The number of replaced versions to retain. Each needs space for the nodes and pages that it does not share with other versions.
    package var count = 0
    /// The time for which replaced versions are retained. A version is released only when it exceeds both `count` and `age`.
    package var age: Duration?
    /// The time after which a snapshot of a replaced version expires. Then its reads throw, so that a slow reader does not use memory and disk
    /// space without limit.
    package var snapshotAgeMax: Duration?
    /// Returns nanoseconds of a monotonic clock. Tests supply their own clock.
    package var clock: @Sendable () -> UInt64 = { MonotonicClock.nanoseconds }

    package init() {}

    var retainsNothing: Bool { count == 0 && age == nil }
}

extension Duration {
    private static let secondsMax: Int64 = 100 * 365 * 86_400

    /// Whole nanoseconds; 0 when negative. At most a century, so that the sum with the time of a clock does not overflow.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return UInt64(min(seconds, Self.secondsMax)) * 1_000_000_000 + UInt64(attoseconds) / 1_000_000_000
    }
}

extension VersionRegistry {
    /// Releases retained versions and expires snapshots beyond the limits.
    func endOldVersions() {
        guard !retention.retainsNothing || retention.snapshotAgeMax != nil else { return }
        let free = state.withLock { state in trim(&state) + expire(&state) }
        pool.release(free)
    }

    /// Releases the older half of the retained versions. Called when memory is short.
    func releaseHalfOfRetained() {
        let free = state.withLock { state in
            var free: [RetiredFrame] = []
            for _ in 0..<(state.retained.count + 1) / 2 {
                free += Self.removeHolder(state.retained.removeFirst(), isPinned: true, &state)
            }
            return free
        }
        pool.release(free)
    }

    /// Releases the retained versions that exceed both the number and the age.
    func trim(_ state: inout State) -> [RetiredFrame] {
        var free: [RetiredFrame] = []
        let now = retention.clock()
        while state.retained.count > retention.count, let oldest = state.retained.first {
            let replacedAt = state.live.first { $0.version.number == oldest }?.replacedAt ?? 0
            if let age = retention.age, now &- replacedAt < age.nanoseconds { break }
            free += Self.removeHolder(state.retained.removeFirst(), isPinned: true, &state)
        }
        return free
    }

    /// Expires versions without pins that were replaced too long ago. Sets the flag before the nodes are unpublished. So a reader that enters an
    /// epoch later sees the flag, and the epoch of an earlier reader protects the nodes.
    private func expire(_ state: inout State) -> [RetiredFrame] {
        guard let limit = retention.snapshotAgeMax?.nanoseconds else { return [] }
        let now = retention.clock()
        var free: [RetiredFrame] = []
        for i in state.live.indices.dropLast().reversed() {
            guard state.live[i].pins == 0, let replacedAt = state.live[i].replacedAt, now &- replacedAt > limit else {
                continue
            }
            state.live[i].version.expire()
            free += Self.remove(i, &state)
        }
        return free
    }

    /// Nanoseconds since the oldest live version was replaced; nil when only the newest version is live.
    var oldestAge: UInt64? {
        state.withLock { state in state.live[0].replacedAt.map { retention.clock() &- $0 } }
    }
}
