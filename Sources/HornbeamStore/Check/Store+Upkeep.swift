internal import HornbeamEngine
package import HornbeamModel

/// Maintenance of an open store.
extension Store {
    /// The size of the store, and the snapshots and files that prevent it from shrinking.
    package func space() throws -> StoreSpace {
        let figures = try engineStatistics()
        var space = StoreSpace()
        space.fileBytes = Int(figures.fileBytes)
        space.pageBytes = Int(figures.pageFileBytes)
        space.liveBytes = Int(figures.liveBytes)
        space.pinnedBytes = Int(figures.pinnedBytes)
        space.oldestSnapshotAge = figures.oldestSnapshotAge
        space.snapshots = figures.liveVersions
        return space
    }

    /// Rewrites all pages without gaps and removes the old page files.
    package func compact(progress: ((StoreProgress) throws -> Void)? = nil) throws {
        try requireOutsideBatchHandler()
        try finishDeferredMigration()
        let relay = ProgressRelay(progress)
        try relay.translated { () throws(EngineError) in try engine.compact(progress: relay.engineReport) }
    }

    /// Copies the store to a new folder while it is in use.
    package func backup(to path: String, progress: ((StoreProgress) throws -> Void)? = nil) throws -> StoreBackupReport {
        guard case .directory = location else {
            throw HornbeamError(.unsupportedRequest, "A store in memory has no files to back up; save it to a store on disk.")
        }
        let relay = ProgressRelay(progress)
        return try relay.translated { () throws(EngineError) in
            StoreBackupReport(try engine.backup(to: path, progress: relay.engineReport))
        }
    }
}
