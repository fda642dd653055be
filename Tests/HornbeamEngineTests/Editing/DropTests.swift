import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Dropping trees that are larger than the pool.
@Suite struct DropTests {
    private static let pageSize = 1024
    /// The tree has more than 400 leaves.
    private static let ceiling = 100

    private static func store(_ fileSystem: any FileSystem, ceiling: Int? = nil) throws -> TestStore {
        try TestStore(pageSize: pageSize, fileSystem: fileSystem) {
            $0.frameCeiling = ceiling
            $0.checkpointLogBytes = 1 << 30
        }
    }

    private static func key(_ number: Int) -> [UInt8] { Array("key \(1_000_000 + number)".utf8) }

    /// Bytes that compression makes hardly smaller. Some values are blobs.
    private static func value(_ number: Int) -> [UInt8] {
        var random = SplitMix(seed: UInt64(number))
        return (0..<(number % 500 == 0 ? 5_000 : 90)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }

    /// A closed store with a tree of 4,000 entries, of which some are blobs. Returns its live bytes.
    private static func fill(_ fileSystem: any FileSystem) throws -> UInt64 {
        let store = try store(fileSystem)
        try store.write { transaction in
            let tree = try transaction.createIndex(named: "t")
            for number in 0..<4_000 {
                try transaction.put(key(number), value(number), in: tree)
            }
        }
        try store.engine.checkpoint()
        let bytes = try store.engine.statistics().liveBytes
        try store.engine.close()
        return bytes
    }

    /// Opens the store without a ceiling and checks it.
    private static func expectDropped(_ fileSystem: any FileSystem, before: UInt64) throws {
        let store = try store(fileSystem)
        #expect(try store.engine.snapshot().tree(named: "t") == nil)
        try store.engine.checkpoint()
        #expect(try store.engine.statistics().liveBytes < before / 20)
        #expect(try store.engine.check().problems == [])
        try store.engine.close()
    }

    @Test("a tree of many more pages than the pool may hold is dropped, and its pages and blobs are dead")
    func largeTreeIsDropped() throws {
        let files = MemoryFileSystem()
        let before = try Self.fill(files)
        #expect(before > 4 * Self.ceiling * Self.pageSize)
        let store = try Self.store(files, ceiling: Self.ceiling)
        try store.write { try $0.drop(try #require($0.tree(named: "t"))) }
        try store.engine.close()
        try Self.expectDropped(files, before: before)
    }

    @Test("the replay of such a drop needs no more memory")
    func replayDropsLargeTree() throws {
        let disk = SimulatedDisk()
        let before = try Self.fill(disk)
        let store = try Self.store(disk)
        try store.write { try $0.drop(try #require($0.tree(named: "t"))) }
        // A copy of the files is the store after a crash, since the drop is in the log alone.
        let copy = disk.copy()
        let crashed = try Self.store(copy, ceiling: Self.ceiling)
        try crashed.engine.close()
        try Self.expectDropped(copy, before: before)
        try store.engine.close()
    }
}
