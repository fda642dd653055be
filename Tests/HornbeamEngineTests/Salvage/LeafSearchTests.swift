import Glibc
import HornbeamThreads
import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The search for leaves whose parents are damaged.
@Suite struct LeafSearchTests {
    private static let count = 9000

    private func put(_ value: UInt8, _ transaction: WriteTransaction, _ tree: TreeID) throws {
        for number in 0..<LeafSearchTests.count { try transaction.put(Array("key \(number)".utf8), [value], in: tree) }
    }

    /// The leaves that a running transaction had written before the process ended were the newest, so that salvage took them. A checkpoint meanwhile, and
    /// that of the recovery, list their files as dead.
    @Test(arguments: ["nothing", "a checkpoint", "a crash and a recovery"])
    func leavesOfATransactionThatDidNotCommitAreNotFound(besides event: String) throws {
        let disk = SimulatedDisk()
        let store = try TestStore(fileSystem: disk) { options in
            options.poolBytes = 256 << 10
            options.attachThreshold = 20_000
            options.pageFileBytes = 64 << 10
        }
        let (tree, other) = try store.write { (try $0.createIndex(named: "t"), try $0.createIndex(named: "u")) }
        try store.write { try put(1, $0, tree) }
        let engine = store.engine
        try engine.checkpoint()
        // Replayed by a recovery, which then writes a checkpoint.
        try store.write { try $0.put([1], [1], in: other) }
        let transaction = try engine.begin()
        try put(2, transaction, tree)
        let written = try #require(transaction.earlyLeaves)
        try written.flush()
        #expect(written.pages.count > 50)
        let image = event == "a checkpoint" ? try imageAfterCheckpoint(engine, disk, transaction) : disk.copy()
        if event != "a checkpoint" { transaction.abort() }

        var options = store.options
        if event == "a crash and a recovery" { _ = try Engine.open("test.hornbeam", fileSystem: image, options: options) }
        options.isReadOnly = true
        options.startingPoint = .lastReadable
        func open() throws -> Engine { try Engine.open("test.hornbeam", fileSystem: image, options: options) }
        let root = try open().snapshot().version.record(tree).root
        image.damage("test.hornbeam/\(root.file.fileName)") { $0[Int(root.offset) + 40] ^= 1 }
        let damaged = try open()
        let readable = try damaged.snapshot().readable(tree, damaged.leafSearch())
        #expect(readable.gaps.map(\.lost) == [0])
        var values: [[UInt8]] = []
        try unsafe readable.forEachEntry { (_, value) throws(EngineError) in unsafe values.append(value.map { unsafe Array($0) } ?? []) }
        #expect(values.count == LeafSearchTests.count && Set(values) == [[1]] as Set)
    }

    /// The disk after a checkpoint has written `meta`, and before it removes files, for which it waits for the transaction.
    private func imageAfterCheckpoint(_ engine: Engine, _ disk: SimulatedDisk, _ transaction: WriteTransaction) throws -> SimulatedDisk {
        let log = try #require(engine.state.withLock { $0.log })
        let before = engine.checkpointer.statistics.checkpoints
        let image = Guarded<SimulatedDisk?>(nil)
        let failures = Guarded<[String]>([])
        nonisolated(unsafe) let transaction = transaction  // aborted by one thread
        Cores.share(2) { part in
            if part == 1 {
                do { try engine.checkpointer.run(log: log, isForced: true) } catch { failures.withLock { $0.append("\(error)") } }
            } else {
                while engine.checkpointer.statistics.checkpoints == before { usleep(100) }
                image.withLock { $0 = disk.copy() }
                transaction.abort()
            }
        }
        #expect(failures.withLock { $0 } == [])
        return try #require(image.withLock { $0 })
    }
}
