internal import HornbeamEngine
package import HornbeamModel

extension Store {
    /// Makes a new store of all readable objects of a damaged one, which is not changed.
    ///
    /// Objects keep their keys and the store keeps its identity, so that IDs stay valid. Indexes are rebuilt.
    /// References to lost objects become null. `target` exists only after the new store is complete and durable.
    ///
    /// - Parameter model: Needed only when the stored model is unreadable.
    /// - Throws: `notAStore`, `newerFormat`; `damaged` when no version or no model is readable; `full`; errors of `progress`.
    package static func salvage(
        _ source: String, to target: String, model: ManagedObjectModel? = nil, options: Options = Options(),
        progress: ((StoreProgress) throws -> Void)? = nil
    ) throws -> SalvageReport {
        let fileSystem = options.fileSystem ?? PosixFileSystem()
        let engine = try openForSalvage(source, fileSystem, options)
        var report = SalvageReport()
        report.openingLoss = engine.loss?.description
        let progress = ProgressRelay(progress)
        try progress.translated { () throws(EngineError) in
            try Engine.create(target, as: engine, fileSystem: fileSystem, options: options.engineOptions) {
                (copy) throws(EngineError) in
                do {
                    let salvage = try Salvage(from: engine, to: copy, model: model, source, progress)
                    try salvage.run()
                    report.merge(salvage.report)
                } catch let error as EngineError {
                    throw error
                } catch {
                    throw progress.stop(error)
                }
            }
        }
        return report
    }

    /// Opens the newest version with readable roots.
    private static func openForSalvage(
        _ source: String, _ fileSystem: any FileSystem, _ options: Options
    ) throws -> Engine {
        var engineOptions = options.engineOptions
        engineOptions.isReadOnly = true
        engineOptions.startingPoint = .lastReadable
        return try EngineError.translated { () throws(EngineError) in
            try Engine.open(source, fileSystem: fileSystem, options: engineOptions)
        }
    }
}

extension SalvageReport {
    fileprivate mutating func merge(_ other: SalvageReport) {
        let openingLoss = openingLoss
        self = other
        self.openingLoss = openingLoss
    }
}
