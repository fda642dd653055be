// The options of an engine.

/// The durability level of a commit. It determines when the commit is acknowledged.
package enum Durability: Sendable, Hashable {
    /// After the sync. The commit survives a power failure.
    case full
    /// After the write to the operating system. The sync follows within the delay. A power failure may lose the last commits, but no commit
    /// before one that survives.
    case lazy(maxDelay: Duration)

    /// Nanoseconds within which the sync must follow; 0 for `full`.
    var delayNanoseconds: UInt64 {
        guard case .lazy(let delay) = self else { return 0 }
        return delay.nanoseconds
    }
}

/// The options of an engine. The defaults suit a program that uses one store.
package struct EngineOptions: Sendable {
    /// The goal for the buffer pool's memory; by default a quarter of the memory that the process may use, between 8 MiB
    /// and 1 GiB.
    package var poolBytes: Int
    /// Bytes of a page before compression: a power of two from 512 to 16384. A store has the size with which it was created.
    package var pageSize = 16384
    package var createIfMissing = true
    /// Opens the store without a lock and without writing. Any number of processes may read while one process writes.
    package var isReadOnly = false
    /// Opens the store for writing by several processes, which take turns. All of them must set it. Ignored with another starting point than
    /// `newest`.
    package var isShared = false
    /// The time for which a transaction of a shared store waits for the turn of another process. Then it throws `busy`.
    package var busyTimeout = Duration.seconds(10)
    package var startingPoint = StartingPoint.newest
    /// Permits a store on a network file system, where locks may not exclude writers on other machines.
    package var allowsNetworkFileSystem = false
    /// False for a store that is never opened again, such as a cache in memory: its log records the numbers of the transactions, but not their changes, and
    /// closing it writes no checkpoint.
    package var logsChanges = true
    /// If false, checkpoints and lazy syncs run in the committing thread; simulations need this.
    package var usesBackgroundThread = true
    /// Returns false in tests that simulate a system without free threads. Commits then do the work of the background threads.
    package var mayStartThread: @Sendable () -> Bool = { true }
    /// Bytes of redo after which a checkpoint starts, if `SpacePolicy` does not demand one before.
    package var checkpointLogBytes = 64 << 20
    /// Bytes of redo above which a transaction may write its pages and attach them to the log, instead of logging the redo.
    package var attachThreshold = 256 << 10
    /// Dead bytes in page files that are permitted in a store of any size. Cleaning begins when there are more, plus about a third of the live
    /// bytes.
    package var slackBytes = 1 << 20
    /// The size at which a page file of a small store is full. Page files of large stores are larger.
    package var pageFileBytes = 4 << 20
    /// The size of the reserve for a full disk; by default 1 MiB, or less if `checkpointLogBytes` is small.
    package var reserveBytes: Int?
    /// The maximum number of frames, including dirty nodes; nil for four times the pool's goal, but at least 262,144.
    package var frameCeiling: Int?
    package var log = LogOptions()
    /// The retention of replaced versions, and the age at which snapshots expire.
    package var retention = Retention()

    var reserveSize: Int { reserveBytes ?? min(1 << 20, checkpointLogBytes / 4) }
    var spacePolicy: SpacePolicy { SpacePolicy(slack: slackBytes, fileBytesMin: pageFileBytes) }

    package init() {
        poolBytes = min(max(MemoryLimit.bytes / 4, 8 << 20), 1 << 30)
    }
}
