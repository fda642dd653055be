// Which versions are alive, and which nodes wait for them.
//
// A node replaced by transaction d and born with transaction b is needed by the live versions in [b, d) only. It
// waits on the list of the newest of them and moves down when that one goes, so that an idle reader of an old
// version keeps the nodes of its own version alive, not those of every version since.

import HornbeamThreads
import Synchronization

final class VersionRegistry: Sendable {
    private let pool: FramePool
    private let state: Guarded<State>
    private let newest: Atomic<UInt64>

    private struct State {
        /// Ascending by number; the last one is published.
        var live: [Live]
    }

    private struct Live {
        let version: StoreVersion
        /// Snapshots, and one for being published.
        var holders: Int
        var waiting: [Retired] = []
    }

    /// A node that was replaced. The generation tells whether the frame still holds it.
    struct Retired {
        let frame: UInt32
        let generation: UInt32
        let birth: UInt64
    }

    init(pool: FramePool, first: StoreVersion) {
        self.pool = pool
        state = Guarded(State(live: [Live(version: first, holders: 1)]))
        newest = Atomic(first.number.rawValue)
    }

    /// The number of the published version.
    var published: TransactionNumber { TransactionNumber(newest.load(ordering: .acquiring)) }

    /// Takes hold of the published version.
    func acquire() -> StoreVersion {
        state.withLock { state in
            state.live[state.live.count - 1].holders += 1
            return state.live[state.live.count - 1].version
        }
    }

    /// Lets a version go.
    func release(_ number: TransactionNumber) {
        let free = state.withLock { Self.drop(number, &$0) }
        pool.release(free)
    }

    /// Makes a version the one that new readers get.
    func publish(_ version: StoreVersion, retired: [Retired]) {
        let free = state.withLock { state in
            let previous = state.live[state.live.count - 1].version.number
            state.live.append(Live(version: version, holders: 1))
            var free = Self.settle(retired, before: state.live.count - 1, &state)
            free += Self.drop(previous, &state)
            newest.store(version.number.rawValue, ordering: .releasing)
            return free
        }
        pool.release(free)
    }

    /// The oldest version that anybody reads.
    var oldest: TransactionNumber { state.withLock { $0.live[0].version.number } }

    /// Versions alive and nodes that wait for them.
    var counts: (versions: Int, waiting: Int) {
        state.withLock { ($0.live.count, $0.live.reduce(0) { $0 + $1.waiting.count }) }
    }

    private static func drop(_ number: TransactionNumber, _ state: inout State) -> [Retired] {
        guard let i = state.live.lastIndex(where: { $0.version.number == number }) else { return [] }
        state.live[i].holders -= 1
        guard state.live[i].holders == 0 else { return [] }
        let waiting = state.live.remove(at: i).waiting
        return settle(waiting, before: i, &state)
    }

    /// Hangs each node on the newest live version below position `end` that needs it; gives back those that none needs.
    private static func settle(_ nodes: [Retired], before end: Int, _ state: inout State) -> [Retired] {
        guard end > 0 else { return nodes }
        let holder = state.live[end - 1].version.number.rawValue
        var free: [Retired] = []
        for node in nodes {
            if node.birth <= holder { state.live[end - 1].waiting.append(node) } else { free.append(node) }
        }
        return free
    }
}

/// One committed state of the store. Any thread may read it; it lives as long as it is referenced.
package final class Snapshot: Sendable {
    let version: StoreVersion
    let pool: FramePool
    private let registry: VersionRegistry

    init(_ registry: VersionRegistry, pool: FramePool) {
        self.registry = registry
        self.pool = pool
        version = registry.acquire()
    }

    deinit { registry.release(version.number) }

    /// The transaction whose result this is.
    package var transaction: TransactionNumber { version.number }

    package func tree(named name: String) -> TreeID? { version.names[name] }

    /// The names of all trees, sorted.
    package var treeNames: [String] { version.names.keys.sorted() }

    package func index(_ id: TreeID) throws(EngineError) -> IndexView {
        let record = try version.record(id)
        guard record.layouts == nil else { throw EngineError(.unknownTree, "Tree \(id) is a table, not an index.") }
        return IndexView(
            root: TreeRoot(pool: pool, reference: record.root, hint: record.hint, leafKind: .indexLeaf), owner: self)
    }

    package func table(_ id: TreeID) throws(EngineError) -> TableView {
        let record = try version.record(id)
        guard let layouts = record.layouts else {
            throw EngineError(.unknownTree, "Tree \(id) is an index, not a table.")
        }
        return TableView(
            root: TreeRoot(pool: pool, reference: record.root, hint: record.hint, leafKind: .tableLeaf), layouts: layouts,
            transaction: version.number.rawValue, owner: self)
    }

    /// A named value; nil if there is none.
    package func value(_ name: String) throws(EngineError) -> [UInt8]? {
        try index(StoreVersion.valuesTree).get(Array(name.utf8))
    }
}
