// Counts of an engine's work and of its use of space.

/// The counts of an open store at one moment.
package struct EngineStatistics: Sendable, Hashable {
    // Since the store was opened.
    /// Committed transactions.
    package var commits = 0
    // Commit groups that were written to the log, and syncs of the log.
    package var groups = 0
    package var syncs = 0
    // Bytes of redo records in the log; the number of checkpoints; bytes of pages that they wrote.
    package var logBytes = 0
    package var checkpoints = 0
    package var checkpointBytes: UInt64 = 0

    // Now.
    package var pageSize = 0
    // Frames of the buffer pool: the goal, those in use, and those with a page that is on disk.
    package var poolCapacity = 0
    package var poolInUse = 0
    package var poolCached = 0
    // Live versions, and replaced nodes that they need.
    package var liveVersions = 0
    package var waitingNodes = 0
    // Page files, their bytes, and their live bytes at the last checkpoint.
    package var pageFiles = 0
    package var pageFileBytes: UInt64 = 0
    package var liveBytes: UInt64 = 0
    /// Bytes of page files that exist only because versions are read or retained.
    package var pinnedBytes: UInt64 = 0
    /// Bytes of all files of the store.
    package var fileBytes: UInt64 = 0
    /// The time since the oldest live version was replaced; nil if only the newest version is live.
    package var oldestSnapshotAge: Duration?

    package init() {}
}

extension Engine {
    /// The engine's counts at this moment.
    package func statistics() throws(EngineError) -> EngineStatistics {
        var figures = EngineStatistics()
        let pipeline = core.pipeline.statistics
        figures.commits = pipeline.commits
        figures.groups = pipeline.groups
        figures.syncs = pipeline.syncs
        figures.logBytes = pipeline.logBytes
        (figures.checkpoints, figures.checkpointBytes) = checkpointer.statistics
        figures.pageSize = core.pool.pageSize
        figures.poolCapacity = core.pool.capacity
        (figures.poolInUse, figures.poolCached) = core.pool.usage
        (figures.liveVersions, figures.waitingNodes) = core.registry.counts
        let files = try core.files.files()
        figures.pageFiles = files.count
        figures.pageFileBytes = files.reduce(0) { $0 + UInt64($1.bytes) }
        figures.liveBytes = UInt64(core.space.table.liveBytes)
        figures.pinnedBytes = UInt64(
            try core.space.pinnedBytes(readers: readersBeforePreviousCheckpoint, horizon: checkpointer.previousTransaction))
        figures.fileBytes = try fileBytes()
        figures.oldestSnapshotAge = core.registry.oldestAge.map { .nanoseconds($0) }
        return figures
    }

    private func fileBytes() throws(EngineError) -> UInt64 {
        let fileSystem = core.files.fileSystem
        var sum: UInt64 = 0
        for name in try fileSystem.list(path) {
            do throws(EngineError) { sum += try fileSystem.open(join(path, name), .read).size() } catch {
                // A file may have been removed after the folder was listed.
                guard error.code == .notAStore else { throw error }
            }
        }
        return sum
    }
}
