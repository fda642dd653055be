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

    /// A disk and a store with two indexes, whose big transactions write leaves early.
    private func makeStore(pageFileBytes: Int = 64 << 10) throws -> (disk: SimulatedDisk, store: TestStore, tree: TreeID, other: TreeID) {
        let disk = SimulatedDisk()
        let store = try TestStore(fileSystem: disk) { options in
            options.poolBytes = 256 << 10
            options.attachThreshold = 20_000
            options.pageFileBytes = pageFileBytes
        }
        let (tree, other) = try store.write { (try $0.createIndex(named: "t"), try $0.createIndex(named: "u")) }
        return (disk, store, tree, other)
    }

    /// Opens a copy of a disk for salvage.
    private func open(_ disk: SimulatedDisk, _ store: TestStore) throws -> Engine {
        var options = store.options
        options.isReadOnly = true
        options.startingPoint = .lastReadable
        return try Engine.open("test.hornbeam", fileSystem: disk, options: options)
    }

    private func damage(_ page: PageReference, on disk: SimulatedDisk) {
        disk.damage("test.hornbeam/\(page.file.fileName)") { $0[Int(page.offset) + 40] ^= 1 }
    }

    /// The entries of a tree after the damage of its root. `lost` is the number of entries that are certainly missing.
    private func entriesWithoutRoot(of tree: TreeID, _ disk: SimulatedDisk, _ store: TestStore) throws -> (entries: [[UInt8]: [UInt8]], lost: [Int]) {
        damage(try open(disk, store).snapshot().version.record(tree).root, on: disk)
        return try entries(of: tree, disk, store)
    }

    private func entries(of tree: TreeID, _ disk: SimulatedDisk, _ store: TestStore) throws -> (entries: [[UInt8]: [UInt8]], lost: [Int]) {
        let engine = try open(disk, store)
        let readable = try engine.snapshot().readable(tree, engine.leafSearch())
        var entries: [[UInt8]: [UInt8]] = [:]
        try unsafe readable.forEachEntry { (key, value) throws(EngineError) in unsafe entries[Array(key)] = value.map { unsafe Array($0) } }
        return (entries, readable.gaps.map(\.lost))
    }

    /// A checkpoint beside a big transaction writes leaves of the version before it after the transaction has written theirs.
    @Test func leavesThatACheckpointWroteBesideATransactionAreOlder() throws {
        let (disk, store, tree, other) = try makeStore()
        let engine = store.engine
        try store.write { try put(1, $0, tree) }
        try engine.checkpoint()
        // The checkpoint's file keeps live pages: those of the other tree.
        try store.write { transaction in
            for number in 0..<20 { try transaction.put(Array("key \(number * 400)".utf8), [2], in: tree) }
            try transaction.put([1], [1], in: other)
        }
        let transaction = try engine.begin()
        try put(3, transaction, tree)
        transaction.unwrittenMax = 0
        try transaction.writeLeavesEarly()
        let log = try #require(engine.state.withLock { $0.log })
        let before = engine.checkpointer.statistics.checkpoints
        let failures = Guarded<[String]>([])
        nonisolated(unsafe) let running = transaction  // committed by one thread
        Cores.share(2) { part in
            do {
                if part == 1 { return try engine.checkpointer.run(log: log, isForced: true) }
                while engine.checkpointer.statistics.checkpoints == before { usleep(100) }
                _ = try running.commit()
            } catch { failures.withLock { $0.append("\(error)") } }
        }
        #expect(failures.withLock { $0 } == [])

        let (entries, lost) = try entriesWithoutRoot(of: tree, disk.copy(), store)
        #expect(lost == [0])
        #expect(entries.count == LeafSearchTests.count && Set(entries.values) == [[3]] as Set)
    }

    /// A cleaning round's checkpoints write to one file, which the older state has too.
    @Test func leavesOfALaterCheckpointAreNotFoundAtTheOlderState() throws {
        let (disk, store, tree, _) = try makeStore()
        let engine = store.engine
        let log = try #require(engine.state.withLock { $0.log })
        try store.write { try put(1, $0, tree) }
        try store.write { try $0.put(Array("key 0".utf8), [1], in: tree) }
        try engine.checkpointer.run(log: log)
        let root = try open(disk.copy(), store).snapshot().version.record(tree).root
        try store.write { for number in 0..<100 { try $0.put(Array("key \(number * 80)".utf8), [2], in: tree) } }
        try engine.checkpointer.run(log: log, continuesFile: true)

        let image = disk.copy()
        damage(engine.checkpointer.latest.catalogue, on: image)
        damage(root, on: image)
        let (entries, lost) = try entries(of: tree, image, store)
        #expect(lost == [0])
        #expect(entries.count == LeafSearchTests.count && Set(entries.values) == [[1]] as Set)
    }

    /// The leaves of a bulk insert have files of their own. The file of other leaves may have been begun before.
    @Test func theLastOfTheLeavesThatATransactionWroteIsFound() throws {
        let (disk, store, tree, other) = try makeStore(pageFileBytes: 1 << 20)
        try store.write { try put(1, $0, tree) }
        // Each leaf has room for the entries of the bulk insert.
        try store.write { transaction in
            for number in stride(from: 0, to: LeafSearchTests.count, by: 3) { _ = try transaction.delete(Array("key \(number)".utf8), from: tree) }
        }
        let transaction = try store.engine.begin()
        try transaction.applyDeferred()
        transaction.redo.abandon()
        try put(1, transaction, other)
        transaction.unwrittenMax = 0
        try transaction.writeLeavesEarly()
        let first = try #require(transaction.earlyLeaves?.pages.last)
        let batch = EntryBatch()
        for number in stride(from: 0, to: LeafSearchTests.count, by: 3) {
            unsafe Array("key \(number)".utf8).withUnsafeBytes { key in unsafe [UInt8(2)].withUnsafeBytes { unsafe batch.append(key, $0) } }
        }
        let editor = try transaction.index(editing: tree)
        let existing = try batch.forEachPart(of: 1000) { part, entry throws(EngineError) in
            try transaction.putLeafByLeaf(part, entry, in: editor, onlyNew: true)
        }
        #expect(existing == nil && transaction.earlyLeaves?.leafWriters.count == 1)
        let written = try #require(transaction.earlyLeaves?.pages.last)
        #expect(written.file > first.file)
        // Other leaves of the bulk insert stay live.
        let changed = (0..<LeafSearchTests.count).filter { String($0).hasPrefix("1") }
        for number in changed { try transaction.put(Array("key \(number)".utf8), [3], in: tree) }
        transaction.unwrittenMax = 0
        try transaction.writeLeavesEarly()
        _ = try transaction.commit()

        let (entries, lost) = try entriesWithoutRoot(of: tree, disk.copy(), store)
        #expect(lost == [0])
        #expect(entries.count == LeafSearchTests.count && changed.allSatisfy { entries[Array("key \($0)".utf8)] == [3] })
    }

    /// Small and big transactions, bulk inserts, aborts and checkpoints of each kind, in random order. No leaf loses all its entries, so that the search can
    /// tell live leaves from dead ones.
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func leavesBelowEachInnerPageAreFound(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let (disk, store, tree, _) = try makeStore(pageFileBytes: [64 << 10, 256 << 10].randomElement(using: &random)!)
        let log = try #require(store.engine.state.withLock { $0.log })
        var model: [[UInt8]: [UInt8]] = [:]
        for step in 0..<24 as Range<UInt8> {
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1: try changeKeys(Int.random(in: 1...20, using: &random), to: step, store, tree, &model, &random)
            case 2, 3: try changeKeys(Int.random(in: 1500...3000, using: &random), to: step, store, tree, &model, &random)
            case 4: try insertBatch(of: step, store, tree, &model, &random)
            default: try store.engine.checkpointer.run(log: log, isForced: .random(using: &random), continuesFile: .random(using: &random))
            }
        }
        try store.engine.checkpointer.run(log: log, continuesFile: .random(using: &random))
        let engine = try open(disk.copy(), store)
        let inner = try innerPages(below: engine.snapshot().version.record(tree).root, engine.core.pool)
        #expect(inner.count > 1)
        for page in inner {
            let image = disk.copy()
            damage(page, on: image)
            let (entries, lost) = try entries(of: tree, image, store)
            #expect(lost == [0] && entries == model, "seed \(seed): without the page at \(PageReference.describe(page.address))")
        }
    }

    /// Changes random keys in a transaction, a quarter of which is aborted.
    private func changeKeys(
        _ count: Int, to value: UInt8, _ store: TestStore, _ tree: TreeID, _ model: inout [[UInt8]: [UInt8]], _ random: inout SplitMix
    ) throws {
        let transaction = try store.engine.begin()
        transaction.unwrittenMax = Int.random(in: 8...200, using: &random)
        var changed = model
        for _ in 0..<count {
            let key = Array("key \(Int.random(in: 0..<LeafSearchTests.count, using: &random))".utf8)
            try transaction.put(key, [value], in: tree)
            try transaction.writeLeavesEarly()
            changed[key] = [value]
        }
        if Int.random(in: 0..<4, using: &random) == 0 { return transaction.abort() }
        _ = try transaction.commit()
        model = changed
    }

    private func insertBatch(of value: UInt8, _ store: TestStore, _ tree: TreeID, _ model: inout [[UInt8]: [UInt8]], _ random: inout SplitMix) throws {
        let batch = EntryBatch()
        for _ in 0..<700 {
            let key = Array("key \(Int.random(in: 0..<LeafSearchTests.count, using: &random))".utf8)
            if model.updateValue([value], forKey: key) == [value] { continue }
            unsafe key.withUnsafeBytes { key in unsafe [value].withUnsafeBytes { unsafe batch.append(key, $0) } }
        }
        try store.write { try $0.put(batch, in: tree) }
    }

    private func innerPages(below page: PageReference, _ pool: FramePool) throws -> [PageReference] {
        let children = try pool.reading { () throws(EngineError) -> [PageReference] in
            let node = pool.page(try pool.rootFrame(page))
            return node.level > 0 ? (0..<node.count).map { SlottedNode(node).child($0) } : []
        }
        return children.isEmpty ? [] : [page] + (try children.flatMap { try innerPages(below: $0, pool) })
    }

    /// The search skips the sector of the root, which has parts of some leaves too.
    @Test func sectorsThatCannotBeReadAreDamage() throws {
        let (disk, store, tree, _) = try makeStore()
        try store.write { try put(1, $0, tree) }
        try store.engine.checkpoint()
        let image = disk.copy()
        let root = try open(image, store).snapshot().version.record(tree).root
        image.makeUnreadable("test.hornbeam/\(root.file.fileName)", at: root.offset)
        let (entries, lost) = try entries(of: tree, image, store)
        #expect(lost.count == 1 && lost[0] + entries.count == LeafSearchTests.count)
        #expect(lost[0] > 0 && lost[0] < LeafSearchTests.count / 4)
    }

    /// Each copy of a slot is in a block of its own.
    @Test(arguments: 0..<4 as Range<UInt64>)
    func oneUnreadableBlockOfMetaLosesNothing(block: UInt64) throws {
        let (disk, store, tree, _) = try makeStore()
        for value in 1...3 as ClosedRange<UInt8> {
            try store.write { try put(value, $0, tree) }
            try store.engine.checkpoint()
        }
        let image = disk.copy()
        image.makeUnreadable("test.hornbeam/meta", at: block * UInt64(MetaBlock.bytes))
        #expect(Set(try entries(of: tree, image, store).entries.values) == [[3]] as Set)
    }

    /// The second slot of a new store is empty: blocks 1 and 3.
    @Test(arguments: [[0, 1, 2, 3], [0, 2]])
    func metaWithoutAReadableStateIsNoOtherFile(blocks: [Int]) throws {
        let (disk, store, _, _) = try makeStore()
        let image = disk.copy()
        for block in blocks { image.makeUnreadable("test.hornbeam/meta", at: UInt64(block * MetaBlock.bytes)) }
        let error = #expect(throws: EngineError.self) { try open(image, store) }
        #expect(error?.code == .inputOutput)
    }

    /// The leaves that a running transaction had written before the process ended were the newest, so that salvage took them. A checkpoint meanwhile, and
    /// that of the recovery, list their files as dead.
    @Test(arguments: ["nothing", "a checkpoint", "a crash and a recovery"])
    func leavesOfATransactionThatDidNotCommitAreNotFound(besides event: String) throws {
        let (disk, store, tree, other) = try makeStore()
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

        if event == "a crash and a recovery" { _ = try Engine.open("test.hornbeam", fileSystem: image, options: store.options) }
        let (entries, lost) = try entriesWithoutRoot(of: tree, image, store)
        #expect(lost == [0])
        #expect(entries.count == LeafSearchTests.count && Set(entries.values) == [[1]] as Set)
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
