// Which records the system keeps in its page cache when memory has no room for all page files, and which it reads along with others.
//
// The system keeps what was read last. A lookup by a value reads a leaf of an index and a leaf of a table. An index has fewer leaves than its
// table, so each of them is needed more often. While leaves of indexes come from the device, leaves of tables are therefore removed from the
// page cache after they were read. When the page cache has all leaves of indexes that are in use, leaves of tables stay again.
//
// After a leaf that stays, the system is asked for the leaves around it, since a longer read takes little more time than a further one later. That
// is of no use if the page cache has too little room to keep them until they are needed.

internal import Synchronization

/// Decides what happens to the page cache after a record was read.
///
/// Threads may lose changes of each other.
struct PageCachePriority: ~Copyable {
    enum Action {
        case keep
        /// The record is removed from the page cache.
        case remove
        /// The system is asked for the block where the record begins.
        case readAround
    }

    /// A read that takes fewer nanoseconds is taken for one from the page cache. Errors only cost a further read.
    static let deviceReadMin: UInt64 = 20_000
    /// The number of leaves of tables that are removed for each leaf of an index.
    static let removedForEach = 8
    /// The number of leaves of tables that are removed after the last leaf of an index, at most.
    static let removalsMax = 4096
    /// The bytes of an aligned block that is requested after a record.
    static let blockBytes: UInt64 = 32 << 10
    /// The number of reads of leaves over which the share of hits is averaged.
    private static let averaged = 256
    /// The share of hits from which on blocks are requested, in 1/65536.
    private static let hitShareMin = 1 << 14

    /// The number of leaves of tables that will be removed.
    private let removals = Atomic(0)
    /// The share of the last reads of leaves that the page cache served, in 1/65536.
    private let hitShare = Atomic(0)

    /// The action after a record was read.
    func action(after kind: PageKind, readNanoseconds: UInt64) -> Action {
        guard kind == .indexLeaf || kind == .tableLeaf else { return .keep }
        let isFromDevice = readNanoseconds >= PageCachePriority.deviceReadMin
        let hits = hitShare.load(ordering: .relaxed)
        hitShare.store(hits + ((isFromDevice ? 0 : 1 << 16) - hits) / PageCachePriority.averaged, ordering: .relaxed)
        guard isFromDevice else { return .keep }
        let due = removals.load(ordering: .relaxed)
        if kind == .indexLeaf {
            removals.store(min(due + PageCachePriority.removedForEach, PageCachePriority.removalsMax), ordering: .relaxed)
        } else if due > 0 {
            removals.store(due - 1, ordering: .relaxed)
            return .remove
        }
        return hits >= PageCachePriority.hitShareMin ? .readAround : .keep
    }
}
