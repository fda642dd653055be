internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// The copy of a store before its first change by a migration, in the folder that the store's description names.
final class MigrationBackup {
    private let directory: String
    private let name: String
    private let fileSystem: any FileSystem
    private var copy: String?

    /// Nil when no copy is wanted.
    init?(_ settings: MigrationOptions, _ location: Store.Location, _ options: Store.Options) {
        guard let directory = settings.backupDirectory, case .directory(let path) = location else { return nil }
        self.directory = directory
        let stamp = options.clock().formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
        name = "\(URL(filePath: path).deletingPathExtension().lastPathComponent)-\(stamp)"
        fileSystem = options.fileSystem ?? PosixFileSystem()
    }

    /// True when the copy takes room from the store: both volumes have the same number of free bytes.
    func isOnVolume(of path: String) -> Bool {
        let free = fileSystem.availableBytes(path)
        return free != nil && free == fileSystem.availableBytes(directory)
    }

    func make(of engine: Engine) throws {
        try EngineError.translated { () throws(EngineError) in
            // Stores of one name may be copied within one second, and so may a store that is opened again after a crash.
            var (target, count) = ("\(directory)/\(name).hornbeam", 1)
            while try fileSystem.exists(target) {
                count += 1
                target = "\(directory)/\(name)-\(count).hornbeam"
            }
            _ = try engine.backup(to: target)
            copy = target
        }
    }

    /// Removes the copy after a migration that failed, since the store is unchanged. Otherwise each opening that fails would add a copy.
    func remove() {
        guard let copy else { return }
        // An error is ignored: the copy is complete, and the error of the migration is reported.
        try? EngineError.translated { () throws(EngineError) in
            for file in try fileSystem.list(copy) { try fileSystem.remove("\(copy)/\(file)") }
            try fileSystem.remove(copy)
        }
    }
}
