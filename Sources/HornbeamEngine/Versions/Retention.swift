// How long versions are kept that have been replaced: on purpose for those who come back to them, and at most for
// those who still read them.

import HornbeamThreads

/// What keeps replaced versions, and what ends them.
package struct Retention: Sendable {
    /// The last replaced versions to keep; each keeps the nodes and pages that it does not share with others.
    package var count = 0
    /// Replaced versions are kept for this long; together with `count` both must be exceeded.
    package var age: Duration?
    /// A snapshot of a version that was replaced longer ago than this is taken away: its reader fails, not the writer.
    package var snapshotAgeMax: Duration?
    /// Nanoseconds of a clock that never goes back; tests bring their own.
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
    /// Ends what is older than the retention and the age limit allow.
    func endOldVersions() {
        guard !retention.keepsNothing || retention.snapshotAgeMax != nil else { return }
        let free = state.withLock { state in trim(&state) + expire(&state) }
        pool.release(free)
    }

    /// Gives up what is only retained, oldest first, until half of it is left: memory is short.
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

    /// Lets go of retained versions beyond count and age.
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

    /// Takes away versions that are only read and were replaced too long ago. The flag comes first: whoever enters an
    /// epoch after the nodes were unpublished sees it, whoever entered before is protected by the epoch.
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

    /// Nanoseconds since the oldest version that is alive was replaced; nil when only the newest is.
    var oldestAge: UInt64? {
        state.withLock { state in state.live[0].replacedAt.map { retention.clock() &- $0 } }
    }
}
