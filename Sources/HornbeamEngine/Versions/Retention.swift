// The retention of replaced versions: how many and how long they are kept, and when the snapshots of readers expire.

import HornbeamThreads

/// The limits for keeping and expiring replaced versions.
package struct Retention: Sendable {
    /// The number of replaced versions to keep. Each keeps the nodes and pages that it does not share with others.
    package var count = 0
    /// Replaced versions are kept for this long. With `count`, a version is released only when it exceeds both.
    package var age: Duration?
    /// A snapshot expires when its version was replaced longer ago than this: its reads throw, so that readers do not block the writer.
    package var snapshotAgeMax: Duration?
    /// Nanoseconds of a monotonic clock; tests supply their own.
    package var clock: @Sendable () -> UInt64 = { MonotonicClock.nanoseconds }

    package init() {}

    var keepsNothing: Bool { count == 0 && age == nil }
}

extension Duration {
    /// Whole nanoseconds; 0 when negative.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return UInt64(seconds) &* 1_000_000_000 &+ UInt64(attoseconds) / 1_000_000_000
    }
}

extension VersionRegistry {
    /// Releases and expires the versions beyond the limits.
    func endOldVersions() {
        guard !retention.keepsNothing || retention.snapshotAgeMax != nil else { return }
        let free = state.withLock { state in trim(&state) + expire(&state) }
        pool.release(free)
    }

    /// Releases retained versions, oldest first, until half of them are left, when memory is short.
    func giveUpRetained() {
        let free = state.withLock { state in
            var free: [RetiredFrame] = []
            for _ in 0..<(state.retained.count + 1) / 2 {
                free += Self.drop(state.retained.removeFirst(), isPinned: true, &state)
            }
            return free
        }
        pool.release(free)
    }

    /// Releases retained versions beyond count and age.
    func trim(_ state: inout State) -> [RetiredFrame] {
        var free: [RetiredFrame] = []
        let now = retention.clock()
        while state.retained.count > retention.count, let oldest = state.retained.first {
            let replacedAt = state.live.first { $0.version.number == oldest }?.replacedAt ?? 0
            if let age = retention.age, now &- replacedAt < age.nanoseconds { break }
            free += Self.drop(state.retained.removeFirst(), isPinned: true, &state)
        }
        return free
    }

    /// Expires versions that are only read and were replaced too long ago. The flag is set first: readers that enter an epoch after the nodes
    /// were unpublished see it, and the epoch protects readers that entered before.
    private func expire(_ state: inout State) -> [RetiredFrame] {
        guard let limit = retention.snapshotAgeMax?.nanoseconds else { return [] }
        let now = retention.clock()
        var free: [RetiredFrame] = []
        for i in state.live.indices.reversed() {
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
