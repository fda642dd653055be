// Which records the system keeps in its page cache when memory has no room for all page files.
//
// The system keeps what was read last. A lookup by a value reads a leaf of an index and a leaf of a table. An index has fewer leaves than its
// table, so each of them is needed more often. While leaves of indexes come from the device, leaves of tables are therefore removed from the
// page cache after they were read. When the page cache has all leaves of indexes that are in use, leaves of tables stay again.

internal import Synchronization

/// Decides which records are removed from the page cache after they were read.
struct PageCachePriority: ~Copyable {
    /// A read that takes fewer nanoseconds is taken for one from the page cache. Errors only cost a further read.
    static let deviceReadMin: UInt64 = 20_000
    /// The number of leaves of tables that are removed for each leaf of an index.
    static let removedForEach = 8
    /// The number of leaves of tables that are removed after the last leaf of an index, at most.
    static let removalsMax = 4096

    /// The number of leaves of tables that will be removed. Threads may lose changes of each other.
    private let removals = Atomic(0)

    /// True if the record that was read is to be removed from the page cache.
    func removes(_ kind: PageKind, readNanoseconds: UInt64) -> Bool {
        guard readNanoseconds >= PageCachePriority.deviceReadMin else { return false }
        let due = removals.load(ordering: .relaxed)
        switch kind {
        case .indexLeaf:
            removals.store(min(due + PageCachePriority.removedForEach, PageCachePriority.removalsMax), ordering: .relaxed)
            return false
        case .tableLeaf where due > 0:
            removals.store(due - 1, ordering: .relaxed)
            return true
        default: return false
        }
    }
}
