// Which versions are alive, and which nodes wait for them.
//
// A node replaced by transaction d and born with transaction b is needed by the live versions in [b, d) only. It
// waits on the list of the newest of them and moves down when that one goes, so that an idle reader of an old
// version keeps the nodes of its own version alive, not those of every version since.
//
// Versions live while they are published, read, pinned, or among the last ones that the retention keeps. Those that are
// only read can be expired: they leave the list though somebody holds them, and their readers are told.

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
        /// Snapshots, pins, and one for being published or retained.
        var holders: Int
        /// Those of the holders whom no age limit ends.
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

    /// Takes hold of the published version, which the engine itself reads.
    func acquire() -> StoreVersion {
        state.withLock { Self.hold($0.live.count - 1, isPinned: true, &$0) }
    }

    /// Takes hold of a version, the published one if none is named; nil when it is alive no more.
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

    /// Lets a version go.
    func release(_ number: TransactionNumber, isPinned: Bool = true) {
        let free = state.withLock { Self.drop(number, isPinned: isPinned, &$0) }
        pool.release(free)
    }

    /// Makes a version the one that new readers get.
    func publish(_ version: StoreVersion, retired: [RetiredFrame]) {
        let free = state.withLock { state in
            let previous = state.live.count - 1
            let replaced = state.live[previous].version.number
            state.live[previous].replacedAt = retention.clock()
            state.live.append(Live(version: version, holders: 1))
            var free = Self.settle(retired, before: state.live.count - 1, &state)
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

    /// Nodes that wait for versions and are on no disk. O(n) in the nodes that wait.
    var waitingInMemory: Int {
        state.withLock { state in
            state.live.reduce(0) { $0 + $1.waiting.count { pool.diskReference($0.frame) == nil } }
        }
    }

    /// Gives a hold back. Versions that were expired are gone already.
    static func drop(_ number: TransactionNumber, isPinned: Bool, _ state: inout State) -> [RetiredFrame] {
        guard let i = state.live.lastIndex(where: { $0.version.number == number }) else { return [] }
        state.live[i].holders -= 1
        state.live[i].pins -= isPinned ? 1 : 0
        return state.live[i].holders == 0 ? remove(i, &state) : []
    }

    /// Ends a version; gives back the nodes that no other one needs.
    static func remove(_ i: Int, _ state: inout State) -> [RetiredFrame] {
        let waiting = state.live.remove(at: i).waiting
        return settle(waiting, before: i, &state)
    }

    /// Hangs each node on the newest live version below position `end` that needs it; gives back those that none needs.
    private static func settle(_ nodes: [RetiredFrame], before end: Int, _ state: inout State) -> [RetiredFrame] {
        guard end > 0 else { return nodes }
        let holder = state.live[end - 1].version.number.rawValue
        var free: [RetiredFrame] = []
        for node in nodes {
            if node.birth <= holder { state.live[end - 1].waiting.append(node) } else { free.append(node) }
        }
        return free
    }
}
