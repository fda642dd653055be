import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The search for leaves whose parents are damaged.
@Suite struct LeafSearchTests {
    private static let count = 9000

    private func put(_ value: UInt8, _ transaction: WriteTransaction, _ tree: TreeID) throws {
        for number in 0..<LeafSearchTests.count { try transaction.put(Array("key \(number)".utf8), [value], in: tree) }
    }

    /// The leaves that a running transaction had written before the process ended were the newest, so that salvage took them.
    @Test func leavesOfATransactionThatDidNotCommitAreNotFound() throws {
        let disk = SimulatedDisk()
        let store = try TestStore(fileSystem: disk) { options in
            options.poolBytes = 256 << 10
            options.attachThreshold = 20_000
            options.pageFileBytes = 64 << 10
        }
        let tree = try store.write { try $0.createIndex(named: "t") }
        try store.write { try put(1, $0, tree) }
        try store.engine.checkpoint()
        let transaction = try store.engine.begin()
        try put(2, transaction, tree)
        let written = try #require(transaction.earlyLeaves)
        try written.flush()
        #expect(written.pages.count > 50)
        let image = disk.copy()
        transaction.abort()

        var options = store.options
        options.isReadOnly = true
        options.startingPoint = .lastReadable
        func open() throws -> Engine { try Engine.open("test.hornbeam", fileSystem: image, options: options) }
        let root = try open().snapshot().version.record(tree).root
        image.damage("test.hornbeam/\(root.file.fileName)") { $0[Int(root.offset) + 40] ^= 1 }
        let engine = try open()
        let readable = try engine.snapshot().readable(tree, engine.leafSearch())
        #expect(readable.gaps.map(\.lost) == [0])
        var values: [[UInt8]] = []
        try unsafe readable.forEachEntry { (_, value) throws(EngineError) in unsafe values.append(value.map { unsafe Array($0) } ?? []) }
        #expect(values == Array(repeating: [1], count: LeafSearchTests.count))
    }
}
