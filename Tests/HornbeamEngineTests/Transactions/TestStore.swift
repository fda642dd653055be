@testable import HornbeamEngine

/// A small store in memory whose pages split early.
final class TestStore {
    let fileSystem: any FileSystem
    let options: EngineOptions
    private(set) var engine: Engine

    init(
        pageSize: Int = 1024, fileSystem: any FileSystem = MemoryFileSystem(), configure: (inout EngineOptions) -> Void = { _ in }
    ) throws {
        var options = EngineOptions()
        options.pageSize = pageSize
        options.poolBytes = 32 * pageSize
        options.frameCeiling = 20_000
        options.usesBackgroundThread = false
        options.log.firstSegmentBytes = 64 << 10
        configure(&options)
        self.options = options
        self.fileSystem = fileSystem
        engine = try Engine.open("test.hornbeam", fileSystem: fileSystem, options: options)
    }

    func reopen() throws {
        try engine.close()
        engine = try Engine.open("test.hornbeam", fileSystem: fileSystem, options: options)
    }

    @discardableResult
    func write<R>(_ body: (WriteTransaction) throws -> R) throws -> R {
        let transaction = try engine.begin()
        let result = try body(transaction)
        _ = try transaction.commit()
        return result
    }
}
