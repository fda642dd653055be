internal import HornbeamEngine
package import HornbeamModel

extension Store {
    /// Makes a new store of everything that can be read of a damaged one, which stays as it is.
    ///
    /// Objects keep their keys and the store its identity, so that IDs go on to name the same objects. Indexes are built anew.
    /// References to lost objects become null. Nothing is at `target` unless the new store is complete and durable.
    ///
    /// - Parameter model: Needed only where the model inside the store cannot be read.
    /// - Throws: `notAStore`, `newerFormat`; `damaged` when there is nothing to start from, or no model; `full`; what `progress` throws.
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

    /// The newest state of which at least the roots can be read.
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
