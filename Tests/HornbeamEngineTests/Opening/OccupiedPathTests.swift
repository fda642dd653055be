import Testing

@testable import HornbeamEngine

/// Errors for a file at the path of a store's folder.
@Suite struct OccupiedPathTests {
    enum Use: CaseIterable { case writing, reading, backup }

    @Test("a plain file at a store's path is called one", arguments: Use.allCases, [true, false])
    func aPlainFileIsCalledOne(_ use: Use, onDisk: Bool) throws {
        let folder = TemporaryFolder()
        let fileSystem: any FileSystem = onDisk ? PosixFileSystem() : MemoryFileSystem()
        let root = onDisk ? folder.path : "root"
        if !onDisk { try fileSystem.createDirectory(root) }
        let path = root + "/plain"
        _ = try fileSystem.open(path, .create)
        let error = #expect(throws: EngineError.self) {
            switch use {
            case .writing: _ = try Engine.open(path, fileSystem: fileSystem)
            case .reading:
                var options = EngineOptions()
                options.isReadOnly = true
                _ = try Engine.open(path, fileSystem: fileSystem, options: options)
            case .backup:
                let engine = try Engine.open(root + "/s", fileSystem: fileSystem)
                defer { try? engine.close() }
                try engine.backup(to: path)
            }
        }
        #expect(
            error?.description
                == "notAStore: There is a file at this path, and a store is a folder. Choose another path. [\(path)]")
        #expect(try fileSystem.exists(path))
    }
}
