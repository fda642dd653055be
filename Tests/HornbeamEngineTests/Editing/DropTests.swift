import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Dropping trees that are larger than the pool.
@Suite struct DropTests {
    private static let pageSize = 1024
    /// The pool of the stores has 32 frames of 1 KiB; the tree has more than 400 leaves.
    private static let ceiling = 100

    private static func store(_ fileSystem: any FileSystem = MemoryFileSystem()) throws -> TestStore {
        try TestStore(pageSize: pageSize, fileSystem: fileSystem) {
            $0.frameCeiling = ceiling
            $0.checkpointLogBytes = 1 << 30
        }
    }

    private static func key(_ number: Int) -> [UInt8] { Array("key \(1_000_000 + number)".utf8) }

    /// Writes 4,000 entries. Some of the values are blobs.
    private static func fill(_ store: TestStore) throws {
        try store.write { _ = try $0.createIndex(named: "t") }
        for start in stride(from: 0, to: 4_000, by: 50) {
            try store.write { transaction in
                let tree = try #require(transaction.tree(named: "t"))
                for number in start..<start + 50 {
                    try transaction.put(key(number), [UInt8](repeating: 7, count: number % 500 == 0 ? 5_000 : 90), in: tree)
                }
            }
            try store.engine.checkpoint()
        }
    }

    @Test("a tree of many more pages than the pool holds is dropped, and its pages and blobs are dead")
    func largeTreeIsDropped() throws {
        let store = try Self.store()
        try Self.fill(store)
        let before = try store.engine.statistics().liveBytes
        #expect(before > 4 * Self.ceiling * Self.pageSize / 2)
        try store.write { try $0.drop(try #require($0.tree(named: "t"))) }
        try store.engine.checkpoint()
        #expect(try store.engine.statistics().liveBytes < before / 20)
        #expect(try store.engine.check().problems == [])
        try store.engine.close()
    }

    @Test("the replay of such a drop needs no more memory")
    func replayDropsLargeTree() throws {
        let disk = SimulatedDisk()
        let store = try Self.store(disk)
        try Self.fill(store)
        try store.write { try $0.drop(try #require($0.tree(named: "t"))) }
        // A copy of the files is the store after a crash, since the drop is in the log alone.
        let crashed = try TestStore(pageSize: Self.pageSize, fileSystem: disk.copy()) { $0.frameCeiling = Self.ceiling }
        #expect(try crashed.engine.snapshot().tree(named: "t") == nil)
        #expect(try crashed.engine.check().problems == [])
        try crashed.engine.close()
        try store.engine.close()
    }
}
