import Glibc
import HornbeamThreads
import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Big transactions write leaves before their commit, so that they need no more memory than the pool has.
@Suite struct EarlyLeavesTests {
    private static let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bytes)])

    /// A store with an index and a table. The leaves of the transactions below take several times its pool.
    private final class Subject {
        let disk: any FileSystem
        let store: TestStore
        let putsBatches: Bool
        let index: TreeID
        let table: TreeID
        var entries: [[UInt8]: [UInt8]] = [:]
        var rows: Set<UInt64> = []
        private(set) var unwrittenMax = 0

        /// - Parameter putsBatches: Puts entries in batches, which go through the insert buffer of the index. Otherwise puts them one by one.
        init(on disk: any FileSystem = MemoryFileSystem(), logsChanges: Bool = true, putsBatches: Bool = false) throws {
            self.disk = disk
            self.putsBatches = putsBatches
            store = try TestStore(fileSystem: disk) { options in
                options.logsChanges = logsChanges
                options.poolBytes = 256 << 10
                options.attachThreshold = 20_000
                options.pageFileBytes = 64 << 10
            }
            (index, table) = try store.write { transaction in
                (try transaction.createIndex(named: "index"), try transaction.createTable(named: "table", layout: EarlyLeavesTests.layout))
            }
        }

        var files: [String] { get throws { try disk.list("test.hornbeam").filter { $0.hasPrefix("pages-") } } }

        /// Puts entries and rows in random order, and deletes some of them.
        func change(_ transaction: WriteTransaction, _ range: Range<UInt64>, _ random: inout SplitMix) throws {
            let row = RowBuffer(layout: EarlyLeavesTests.layout)
            let numbers = range.shuffled(using: &random)
            for start in stride(from: 0, to: numbers.count, by: putsBatches ? 700 : 1) {
                let part = numbers[start..<min(start + (putsBatches ? 700 : 1), numbers.count)]
                try changeEntries(transaction, part)
                for number in part {
                    row.reset()
                    row.set(0, number)
                    row.setString(1, "a text of the row \(number)")
                    try transaction.put(row, key: number % 9000 + 1, in: table)
                    rows.insert(number % 9000 + 1)
                    unwrittenMax = max(unwrittenMax, store.engine.core.pool.unwritten)
                }
            }
        }

        private func changeEntries(_ transaction: WriteTransaction, _ numbers: ArraySlice<UInt64>) throws {
            let batch = EntryBatch()
            for number in numbers where number % 11 != 0 {
                let (key, value) = (Array("key \(number % 9000)".utf8), Array("value \(number)".utf8))
                entries[key] = value
                if putsBatches {
                    unsafe key.withUnsafeBytes { key in unsafe value.withUnsafeBytes { unsafe batch.append(key, $0) } }
                } else {
                    try transaction.put(key, value, in: index)
                }
            }
            try transaction.put(batch, in: index)
            for number in numbers where number % 11 == 0 {
                let key = Array("key \(number % 9000)".utf8)
                _ = try transaction.delete(key, from: index)
                entries[key] = nil
            }
        }

        /// The number of entries in the insert buffer.
        var buffered: Int {
            get throws {
                let snapshot = try store.engine.snapshot()
                return try snapshot.tree(named: "index/insert-buffer").map { try snapshot.index($0).count } ?? 0
            }
        }

        func expectContent() throws {
            let snapshot = try store.engine.snapshot()
            let view = try snapshot.index(index)
            #expect(view.count == entries.count)
            for (key, value) in entries { try #require(try view.get(key) == value) }
            #expect(try snapshot.table(table).count == rows.count)
            #expect(try store.engine.check().problems == [])
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64], [false, true])
    func aBigTransactionNeedsNoMoreMemoryThanThePool(seed: UInt64, putsBatches: Bool) throws {
        let subject = try Subject(putsBatches: putsBatches)
        var random = SplitMix(seed: seed)
        try subject.store.write { try subject.change($0, 0..<3000, &random) }
        try subject.store.write { try subject.change($0, 3000..<20_000, &random) }
        #expect(subject.unwrittenMax < 256, "\(subject.unwrittenMax) nodes were in memory only, seed \(seed)")
        try subject.expectContent()
        #expect(try (subject.buffered > 0) == putsBatches)
        try subject.store.reopen()
        try subject.expectContent()
        try subject.store.write { try subject.change($0, 20_000..<21_000, &random) }
        try subject.expectContent()
    }

    @Test("a store whose log has no changes keeps them, with no more memory than the pool", arguments: [1, 2, 3] as [UInt64], [false, true])
    func changesThatAreNotLogged(seed: UInt64, putsBatches: Bool) throws {
        let subject = try Subject(logsChanges: false, putsBatches: putsBatches)
        var random = SplitMix(seed: seed)
        for start in stride(from: 0 as UInt64, to: 2000, by: 4) { try subject.store.write { try subject.change($0, start ..< start + 4, &random) } }
        try subject.expectContent()
        let before = try subject.store.engine.snapshot()
        let count = try before.index(subject.index).count
        try subject.store.write { try subject.change($0, 2000 ..< 6000, &random) }
        try subject.store.write { try subject.change($0, 6000 ..< 20_000, &random) }
        #expect(subject.unwrittenMax < 256, "\(subject.unwrittenMax) nodes were in memory only, seed \(seed)")
        try subject.expectContent()
        #expect(try before.index(subject.index).count == count)
        for start in stride(from: 20_000 as UInt64, to: 21_000, by: 10) { try subject.store.write { try subject.change($0, start ..< start + 10, &random) } }
        // An aborted transaction leaves nothing.
        let aborted = try subject.store.engine.begin()
        _ = try aborted.delete(Array("key 1".utf8), from: subject.index)
        aborted.abort()
        try subject.expectContent()
        #expect(subject.store.engine.core.pipeline.statistics.logBytes < 100_000, "a transaction logs no changes, seed \(seed)")
        try subject.store.engine.close()
    }

    @Test("snapshots of a store whose log has no changes are readable after it was closed", arguments: [1, 2] as [UInt64])
    func snapshotsAfterClosing(seed: UInt64) throws {
        let subject = try Subject(logsChanges: false)
        var random = SplitMix(seed: seed)
        try subject.store.write { try subject.change($0, 0 ..< 20_000, &random) }
        // Some of the nodes are in memory only.
        for start in stride(from: 20_000 as UInt64, to: 21_000, by: 10) { try subject.store.write { try subject.change($0, start ..< start + 10, &random) } }
        let snapshot = try subject.store.engine.snapshot()
        try subject.store.engine.close()
        for _ in 0 ..< 2 {
            let view = try snapshot.index(subject.index)
            #expect(view.count == subject.entries.count)
            for (key, value) in subject.entries { try #require(try view.get(key) == value) }
            let table = try snapshot.table(subject.table)
            for key in subject.rows { try #require(try table.contains(key)) }
        }
        #expect(throws: EngineError.self) { _ = try subject.store.engine.begin() }
    }

    @Test(arguments: [false, true])
    func anAbortedTransactionLeavesNoPages(putsBatches: Bool) throws {
        let subject = try Subject(putsBatches: putsBatches)
        var random = SplitMix(seed: 4)
        try subject.store.write { try subject.change($0, 0..<3000, &random) }
        let (entries, rows, files) = (subject.entries, subject.rows, try subject.files)
        let transaction = try subject.store.engine.begin()
        try subject.change(transaction, 3000..<20_000, &random)
        #expect(try subject.files.count > files.count)
        transaction.abort()
        (subject.entries, subject.rows) = (entries, rows)
        #expect(try subject.files == files)
        try subject.expectContent()
        try subject.store.write { try subject.change($0, 20_000..<24_000, &random) }
        try subject.expectContent()
        try subject.store.reopen()
        try subject.expectContent()
    }

    /// A checkpoint kept the files of such a transaction until the store was closed.
    @Test(arguments: [false, true])
    func aCommitThatTheLogRefusesLeavesNoPages(putsBatches: Bool) throws {
        let faults = FaultInjector(MemoryFileSystem())
        let subject = try Subject(on: faults, putsBatches: putsBatches)
        var random = SplitMix(seed: 9)
        try subject.store.write { try subject.change($0, 0..<3000, &random) }
        let (entries, rows) = (subject.entries, subject.rows)
        let transaction = try subject.store.engine.begin()
        try subject.change(transaction, 3000..<20_000, &random)
        let files = try #require(transaction.earlyLeaves).pages.map(\.file)
        faults.add(FaultRule(.fail(.full), calls: [.write], kind: .log, isSticky: true))
        let error = #expect(throws: EngineError.self) { _ = try transaction.commit() }
        #expect(error?.code == .full)
        faults.removeRules()
        (subject.entries, subject.rows) = (entries, rows)
        #expect(subject.store.engine.core.space.filesOfTransaction.isEmpty)
        for number in 0..<3 as Range<UInt8> {
            try subject.store.write { try $0.put([number], [number], in: subject.index) }
            subject.entries[[number]] = [number]
            try subject.store.engine.checkpoint()
        }
        #expect(try Set(files.map(\.fileName)).isDisjoint(with: subject.files))
        try subject.expectContent()
        try subject.store.reopen()
        try subject.expectContent()
    }

    /// The cleaner's checkpoints of a round continue a file. Salvage would find the leaves of the refused transaction in it, as the newest ones.
    @Test func noCheckpointContinuesTheFileOfARefusedCommit() throws {
        let faults = FaultInjector(MemoryFileSystem())
        let subject = try Subject(on: faults)
        var random = SplitMix(seed: 10)
        try subject.store.write { try subject.change($0, 0..<3000, &random) }
        let engine = subject.store.engine
        let log = try #require(engine.state.withLock { $0.log })
        try engine.checkpoint()
        let before = try Set(subject.files)
        let transaction = try engine.begin()
        try subject.change(transaction, 3000..<20_000, &random)
        faults.add(FaultRule(.fail(.full), calls: [.write], kind: .log, isSticky: true))
        #expect(throws: EngineError.self) { _ = try transaction.commit() }
        faults.removeRules()
        let refused = try Set(subject.files).subtracting(before)
        #expect(!refused.isEmpty)
        try subject.store.write { try $0.put([1], [1], in: subject.index) }
        try engine.checkpointer.run(log: log, isForced: true, continuesFile: true)
        let live = engine.core.space.table.entries.filter { $0.value.live > 0 }.keys.map(\.fileName)
        #expect(refused.isDisjoint(with: live))
        #expect(try engine.check().problems == [])
    }

    /// A frame that was written, evicted and allocated again within one batch was in the list of new nodes twice, and was removed twice.
    @Test func abortedBatchesReturnTheirFrames() throws {
        let subject = try Subject(putsBatches: true)
        var random = SplitMix(seed: 8)
        func key(_ number: UInt64) -> [UInt8] { Array("\(number &* 0x9E37_79B9_7F4A_7C15)".utf8) }
        func put(_ numbers: Range<UInt64>, _ transaction: WriteTransaction) throws {
            let batch = EntryBatch()
            for number in numbers.shuffled(using: &random) { unsafe key(number).withUnsafeBytes { unsafe batch.append($0, $0) } }
            #expect(try transaction.putNew(batch, in: subject.index) == nil)
        }
        // Batches of so few entries go through the insert buffer, and change most leaves of the index.
        let count: UInt64 = 1500
        for start in stride(from: 0, to: 20 * count, by: Int(count)) { try subject.store.write { try put(start ..< start + count, $0) } }
        #expect(try subject.buffered > 0)
        let engine = subject.store.engine
        try engine.checkpoint()
        let unwritten = engine.core.pool.unwritten
        for round in 0..<4 {
            let transaction = try engine.begin()
            try transaction.applyDeferred()
            transaction.redo.abandon()
            for part in 100..<106 as Range<UInt64> { try put(part * count ..< (part + 1) * count, transaction) }
            #expect(transaction.ledger.unwritten >= 0)
            transaction.abort()
            #expect(engine.core.pool.unwritten == unwritten, "after abort \(round)")
        }
        try subject.store.write { try put(100 * count ..< 101 * count, $0) }
        #expect(try engine.snapshot().index(subject.index).count == 21 * count)
        #expect(try engine.check().problems == [])
    }

    @Test(arguments: [false, true])
    func replacedLeavesOfATransactionAreDead(putsBatches: Bool) throws {
        let subject = try Subject(putsBatches: putsBatches)
        var random = SplitMix(seed: 5)
        try subject.store.write { transaction in
            for _ in 0..<4 { try subject.change(transaction, 0..<9000, &random) }
        }
        for _ in 0..<3 { try subject.store.engine.checkpoint() }
        try subject.expectContent()
        try subject.store.engine.compact()
        try subject.expectContent()
        let statistics = try subject.store.engine.statistics()
        #expect(Int(statistics.pageFileBytes) < 2 * subject.store.engine.core.space.table.liveBytes)
    }

    /// A checkpoint that was forced at the version of the checkpoint before it removed the files of a transaction that was about to commit.
    @Test func aForcedCheckpointKeepsThePagesOfARunningTransaction() throws {
        let subject = try Subject()
        var random = SplitMix(seed: 6)
        try subject.store.write { try subject.change($0, 0..<3000, &random) }
        let engine = subject.store.engine
        try engine.checkpoint()
        nonisolated(unsafe) let transaction = try engine.begin()  // committed by one thread
        try subject.change(transaction, 3000..<20_000, &random)
        #expect(transaction.earlyLeaves != nil)
        let log = try #require(engine.state.withLock { $0.log })
        let before = engine.checkpointer.statistics.checkpoints
        let failures = Guarded<[String]>([])
        Cores.share(2) { part in
            do {
                if part == 1 {
                    try engine.checkpointer.run(log: log, isForced: true)
                } else {
                    // The checkpoint has written `meta`, and waits for the transaction before it removes files.
                    while engine.checkpointer.statistics.checkpoints == before { usleep(100) }
                    _ = try transaction.commit()
                }
            } catch { failures.withLock { $0.append("\(error)") } }
        }
        #expect(failures.withLock { $0 } == [])
        try subject.expectContent()
        try subject.store.reopen()
        try subject.expectContent()
    }

    /// The abort freed frames of leaves that were cached pages already, so that two nodes could share a frame.
    @Test(arguments: 0..<24, [false, true])
    func aFailedWriteOfLeavesIsAborted(after count: Int, putsBatches: Bool) throws {
        let faults = FaultInjector(MemoryFileSystem())
        let subject = try Subject(on: faults, putsBatches: putsBatches)
        var random = SplitMix(seed: 7)
        try subject.store.write { try subject.change($0, 0..<3000, &random) }
        let (entries, rows) = (subject.entries, subject.rows)
        faults.add(FaultRule(.fail(.full), calls: [.write, .create], kind: .pages, after: count))
        let transaction = try subject.store.engine.begin()
        let error = #expect(throws: EngineError.self) {
            for _ in 0..<8 { try subject.change(transaction, 3000..<20_000, &random) }
        }
        #expect(error?.code == .full)
        transaction.abort()
        faults.removeRules()
        (subject.entries, subject.rows) = (entries, rows)
        for round in 0..<6 as Range<UInt64> {
            try subject.store.write { try subject.change($0, 20_000 + round * 2000..<22_000 + round * 2000, &random) }
            try subject.expectContent()
        }
        try subject.store.reopen()
        try subject.expectContent()
    }
}
