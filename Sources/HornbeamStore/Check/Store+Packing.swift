internal import HornbeamEngine
package import HornbeamModel

extension Store {
    /// Writes a copy of the store to one file, while it is in use.
    package func pack(to path: String, progress: ((StoreProgress) throws -> Void)? = nil) throws -> StoreBackupReport {
        let relay = ProgressRelay(progress)
        return try relay.translated { () throws(EngineError) in
            StoreBackupReport(try engine.pack(to: path, in: options.fileSystem ?? PosixFileSystem(), progress: relay.engineReport))
        }
    }

    /// Makes a store of a file that `pack` wrote.
    package static func unpack(
        _ file: String, to path: String, progress: ((StoreProgress) throws -> Void)? = nil
    ) throws -> StoreBackupReport {
        let relay = ProgressRelay(progress)
        return try relay.translated { () throws(EngineError) in
            StoreBackupReport(try Engine.unpack(file, to: path, progress: relay.engineReport))
        }
    }
}

extension StoreBackupReport {
    init(_ report: BackupReport) {
        self.init(transaction: report.transaction.rawValue, files: report.files, bytes: report.bytes)
    }
}
