// The live versions, and the nodes that are kept for them.
//
// A node born with transaction b and replaced by transaction d is needed by the live versions in [b, d) only. It waits on the list of the
// newest of them, and moves to the next older one when that version ends. So an idle reader of an old version keeps the nodes of its own
// version, not those of every later version.
//
// A version is live while it is published, read, pinned, or kept by the retention. Versions that are only read can expire: they leave the
// list although snapshots hold them, and reads through these snapshots throw.

import HornbeamThreads
import Synchronization

final class VersionRegistry: Sendable {
    let pool: FramePool
    let retention: Retention
    let state: Guarded<State>
    private let newest: Atomic<UInt64>
    /// Transactions under way, and groups of them that are being written.
    let writersAtWork = Atomic<Int>(0)

    struct State {
        /// Ascending by number; the last one is published.
        var live: [Live]
        /// The versions that the retention keeps, oldest first.
        var retained: [TransactionNumber] = []
    }

    struct Live {
        let version: StoreVersion
        /// Snapshots, pins, and one for the published or retained state.
        var holders: Int
        /// The holders without an age limit.
        var pins = 0
        /// When the next version was published, on the options' clock.
        var replacedAt: UInt64?
        var waiting: [RetiredFrame] = []
    }

    init(pool: FramePool, retention: Retention, first: StoreVersion) {
        self.pool = pool
        self.retention = retention
        state = Guarded(State(live: [Live(version: first, holders: 1)]))
        newest = Atomic(first.number.rawValue)
    }

    /// The number of the published version.
    var published: TransactionNumber {
        Interleaving.point("the number of the published version")
        return TransactionNumber(newest.load(ordering: .acquiring))
    }

    /// Holds the published version, for the engine itself.
    func acquire() -> StoreVersion {
        state.withLock { Self.hold($0.live.count - 1, isPinned: true, &$0) }
    }

    /// Holds a version, the published one by default; nil if it is no longer live.
    func acquire(_ number: TransactionNumber?, isPinned: Bool) -> StoreVersion? {
        state.withLock { state in
            guard let number else { return Self.hold(state.live.count - 1, isPinned: isPinned, &state) }
            guard let i = state.live.lastIndex(where: { $0.version.number == number }) else { return nil }
            return Self.hold(i, isPinned: isPinned, &state)
        }
    }

    private static func hold(_ i: Int, isPinned: Bool, _ state: inout State) -> StoreVersion {
        state.live[i].holders += 1
        state.live[i].pins += isPinned ? 1 : 0
        return state.live[i].version
    }

    /// Ends a hold.
    func release(_ number: TransactionNumber, isPinned: Bool = true) {
        let free = state.withLock { Self.drop(number, isPinned: isPinned, &$0) }
        pool.release(free)
    }

    /// Makes a version the published one.
    func publish(_ version: StoreVersion, retired: [RetiredFrame]) {
        let free = state.withLock { state in
            let previous = state.live.count - 1
            let replaced = state.live[previous].version.number
            assert(replaced < version.number, "Versions are published in ascending order.")
            state.live[previous].replacedAt = retention.clock()
            state.live.append(Live(version: version, holders: 1))
            var free = Self.assign(retired, before: state.live.count - 1, &state)
            if retention.count > 0 || retention.age != nil {
                state.live[previous].pins += 1
                state.retained.append(replaced)
                free += trim(&state)
            } else {
                free += Self.drop(replaced, isPinned: false, &state)
            }
            newest.store(version.number.rawValue, ordering: .releasing)
            return free
        }
        pool.release(free)
    }

    /// The versions alive, ascending.
    var live: [TransactionNumber] { state.withLock { $0.live.map(\.version.number) } }

    /// Versions alive and nodes that wait for them.
    var counts: (versions: Int, waiting: Int) {
        state.withLock { ($0.live.count, $0.live.reduce(0) { $0 + $1.waiting.count }) }
    }

    /// Nodes that wait for versions and are not on disk. O(n) in the waiting nodes.
    var waitingInMemory: Int {
        state.withLock { state in
            state.live.reduce(0) { $0 + $1.waiting.count { pool.diskReference($0.frame) == nil } }
        }
    }

    /// Ends a hold. Expired versions have already left the list.
    static func drop(_ number: TransactionNumber, isPinned: Bool, _ state: inout State) -> [RetiredFrame] {
        guard let i = state.live.lastIndex(where: { $0.version.number == number }) else { return [] }
        state.live[i].holders -= 1
        state.live[i].pins -= isPinned ? 1 : 0
        assert(state.live[i].pins >= 0 && state.live[i].pins <= state.live[i].holders, "Every hold ends once.")
        return state.live[i].holders == 0 ? remove(i, &state) : []
    }

    /// Ends a version; returns the nodes that no other version needs.
    static func remove(_ i: Int, _ state: inout State) -> [RetiredFrame] {
        assert(i < state.live.count - 1, "The published version is live.")
        let waiting = state.live.remove(at: i).waiting
        return assign(waiting, before: i, &state)
    }

    /// Assigns each node to the newest live version below position `end` that needs it; returns those that no version needs.
    private static func assign(_ nodes: [RetiredFrame], before end: Int, _ state: inout State) -> [RetiredFrame] {
        guard end > 0 else { return nodes }
        assert(end <= state.live.count, "Nodes wait for live versions.")
        let holder = state.live[end - 1].version.number.rawValue
        var free: [RetiredFrame] = []
        for node in nodes {
            if node.birth <= holder { state.live[end - 1].waiting.append(node) } else { free.append(node) }
        }
        return free
    }
}
