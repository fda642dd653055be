// The options of an engine.

import Glibc

/// The durability level of a commit: when it is acknowledged.
package enum Durability: Sendable, Hashable {
    /// After the sync: survives power loss.
    case full
    /// After the write to the operating system; synced within the delay. Recovery still finds a prefix of the commits.
    case lazy(maxDelay: Duration)

    /// Nanoseconds within which the sync must follow; 0 for `full`.
    var delayNanoseconds: UInt64 {
        guard case .lazy(let delay) = self else { return 0 }
        return delay.nanoseconds
    }
}

/// Sizes and switches; the defaults suit a program that uses one store.
package struct EngineOptions: Sendable {
    /// The goal for the buffer pool's memory: by default a quarter of the memory, between 8 MiB and 1 GiB.
    package var poolBytes: Int
    /// Bytes of a logical page, 512 to 16384, a power of two; fixed when a store is created.
    package var pageSize = 16384
    package var createIfMissing = true
    /// Writes nothing and takes no lock: any number of processes may read beside one that writes.
    package var isReadOnly = false
    package var startingPoint = StartingPoint.newest
    /// Permits a store on a network file system, where locks may not exclude writers on other machines.
    package var allowsNetworkFileSystem = false
    /// False: checkpoints and lazy syncs run in the committing thread, as the simulation needs it.
    package var usesBackgroundThread = true
    /// False simulates a system without free threads, for tests. Commits then do the work of the background threads.
    package var mayStartThread: @Sendable () -> Bool = { true }
    /// Bytes of redo after which a checkpoint starts, if the store's size asks for none sooner (`SpacePolicy`).
    package var checkpointLogBytes = 64 << 20
    /// Bytes of redo from which a transaction is committed by a checkpoint instead.
    package var attachThreshold = 8 << 20
    /// Dead bytes in page files that are tolerated. Cleaning begins beyond them and a third of the live bytes.
    package var slackBytes = 1 << 20
    /// Bytes at which a page file of a small store is full; those of large stores grow with it.
    package var pageFileBytes = 4 << 20
    /// Bytes reserved on the disk, so that space can be freed when it is full; by default 1 MiB, less if checkpoints are small.
    package var reserveBytes: Int?
    /// The maximum number of frames, dirty nodes included; nil for four times the pool, at least 4 GiB.
    package var frameCeiling: Int?
    package var log = LogOptions()
    /// How long replaced versions are kept, and when old snapshots expire.
    package var retention = Retention()

    var reserveSize: Int { reserveBytes ?? min(1 << 20, checkpointLogBytes / 4) }
    var spacePolicy: SpacePolicy { SpacePolicy(slack: slackBytes, fileBytesMin: pageFileBytes) }

    package init() {
        let memory = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
        poolBytes = min(max(memory / 4, 8 << 20), 1 << 30)
    }
}
