// The live versions, and the replaced nodes that they still need.
//
// If transaction b made a node and transaction d replaced it, only live versions in [b, d) need the node. The newest of them has it in its
// list `waiting`. When that version ends, the node is moved to the list of the next older one, or freed if no version needs it. So an idle
// reader of an old version prevents the release of that version's nodes, but not of the nodes of later versions.
//
// A version is live while it is the published one, or a snapshot reads it, or it is pinned, or the retention includes it. Versions without
// pins can expire: they are removed from the list although snapshots exist, and reads of these snapshots throw.

import HornbeamThreads
import Synchronization

final class VersionRegistry: Sendable {
    let pool: FramePool
    let retention: Retention
    let state: Guarded<State>
    private let newest: Atomic<UInt64>

    struct State {
        /// The live versions in ascending order; the last one is published.
        var live: [Live]
        /// The versions that are live because of the retention, oldest first.
        var retained: [TransactionNumber] = []
    }

    struct Live {
        let version: StoreVersion
        /// The number of users of the version: snapshots, the engine's own pins, and one if it is published or retained.
        var holders: Int
        /// The number of holders without an age limit.
        var pins = 0
        /// The time at which the next version was published, on the clock of the options; nil for the newest version.
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

    /// Pins the published version, for use by the engine itself.
    func acquire() -> StoreVersion {
        state.withLock { Self.addHolder($0.live.count - 1, isPinned: true, &$0) }
    }

    /// Adds a holder to a version, by default to the published one; nil if the version is no longer live.
    func acquire(_ number: TransactionNumber?, isPinned: Bool) -> StoreVersion? {
        state.withLock { state in
            guard let number else { return Self.addHolder(state.live.count - 1, isPinned: isPinned, &state) }
            guard let i = state.live.lastIndex(where: { $0.version.number == number }) else { return nil }
            return Self.addHolder(i, isPinned: isPinned, &state)
        }
    }

    private static func addHolder(_ i: Int, isPinned: Bool, _ state: inout State) -> StoreVersion {
        state.live[i].holders += 1
        state.live[i].pins += isPinned ? 1 : 0
        return state.live[i].version
    }

    /// Removes a holder of a version.
    func release(_ number: TransactionNumber, isPinned: Bool = true) {
        let free = state.withLock { Self.removeHolder(number, isPinned: isPinned, &$0) }
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
                free += Self.removeHolder(replaced, isPinned: false, &state)
            }
            newest.store(version.number.rawValue, ordering: .releasing)
            return free
        }
        pool.release(free)
    }

    /// The time at which the oldest version that is live, but not published, was replaced; nil if there is none.
    var oldestReplacedAt: UInt64? { state.withLock { $0.live.first?.replacedAt } }

    /// Called when another registry publishes the later versions, because the engine has started again from a newer checkpoint.
    func endPublication() {
        state.withLock { $0.live[$0.live.count - 1].replacedAt = retention.clock() }
    }

    /// After `endPublication`, the time at which the oldest version that snapshots read was replaced; nil if no snapshot is left.
    var oldestReadReplacedAt: UInt64? {
        state.withLock { state in
            let isHeld = Set(state.retained + [state.live[state.live.count - 1].version.number])
            return state.live.first { $0.holders > (isHeld.contains($0.version.number) ? 1 : 0) }?.replacedAt
        }
    }

    /// The numbers of the live versions, in ascending order.
    var live: [TransactionNumber] { state.withLock { $0.live.map(\.version.number) } }

    /// The number of live versions, and of replaced nodes that they need.
    var counts: (versions: Int, waiting: Int) {
        state.withLock { ($0.live.count, $0.live.reduce(0) { $0 + $1.waiting.count }) }
    }

    /// The number of replaced nodes that live versions need and that are not on disk. O(n) in the number of such nodes.
    var waitingInMemory: Int {
        state.withLock { state in
            state.live.reduce(0) { $0 + $1.waiting.count { pool.diskReference($0.frame) == nil } }
        }
    }

    /// Removes a holder of a version. Does nothing for an expired version, which is no longer in the list.
    static func removeHolder(_ number: TransactionNumber, isPinned: Bool, _ state: inout State) -> [RetiredFrame] {
        guard let i = state.live.lastIndex(where: { $0.version.number == number }) else { return [] }
        state.live[i].holders -= 1
        state.live[i].pins -= isPinned ? 1 : 0
        assert(state.live[i].pins >= 0 && state.live[i].pins <= state.live[i].holders, "Every holder is removed once.")
        return state.live[i].holders == 0 ? remove(i, &state) : []
    }

    /// Removes a version from the list. Returns the nodes that no other version needs.
    static func remove(_ i: Int, _ state: inout State) -> [RetiredFrame] {
        assert(i < state.live.count - 1, "The published version is live.")
        let waiting = state.live.remove(at: i).waiting
        return assign(waiting, before: i, &state)
    }

    /// Adds each node to the list of the version at position `end - 1`, if that version needs it. Returns the nodes that no version needs.
    private static func assign(_ nodes: [RetiredFrame], before end: Int, _ state: inout State) -> [RetiredFrame] {
        guard end > 0 else { return nodes }
        assert(end <= state.live.count, "Nodes wait for live versions.")
        let holder = state.live[end - 1].version.number.rawValue
        let needed = nodes.count { $0.birth <= holder }
        if needed == 0 { return nodes }
        if needed == nodes.count, state.live[end - 1].waiting.isEmpty {
            state.live[end - 1].waiting = nodes
            return []
        }
        state.live[end - 1].waiting.append(contentsOf: nodes.lazy.filter { $0.birth <= holder })
        return nodes.filter { $0.birth > holder }
    }
}
