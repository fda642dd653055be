import HornbeamThreads
import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

@Suite struct TransactionTests {
    private func number(_ engine: Engine, _ key: String) throws -> Int? {
        let snapshot = try engine.snapshot()
        guard let tree = snapshot.tree(named: "t"), let value = try snapshot.index(tree).get(Array(key.utf8)) else { return nil }
        return Int(String(decoding: value, as: UTF8.self))
    }

    private func put(_ transaction: WriteTransaction, _ key: String, _ value: Int) throws {
        try transaction.put(Array(key.utf8), Array(String(value).utf8), in: transaction.tree(named: "t")!)
    }

    @Test func snapshotsDoNotSeeLaterCommits() throws {
        let store = try TestStore()
        try store.write { _ = try $0.createIndex(named: "t") }
        try store.write { try put($0, "a", 1) }
        let old = try store.engine.snapshot()
        for value in 2...40 {
            try store.write { transaction in for i in 0..<20 { try put(transaction, "a\(i)", value) } }
            try store.write { try put($0, "a", value) }
            if value % 10 == 0 { try store.engine.checkpoint() }
        }
        #expect(try old.index(old.tree(named: "t")!).get(Array("a".utf8)) == Array("1".utf8))
        #expect(try old.index(old.tree(named: "t")!).count == 1)
        #expect(try number(store.engine, "a") == 40)
    }

    @Test func anIdleReaderKeepsItsOwnVersionOnly() throws {
        let store = try TestStore()
        try store.write { _ = try $0.createIndex(named: "t") }
        try store.write { transaction in for i in 0..<300 { try put(transaction, "key \(i)", i) } }
        let old = try store.engine.snapshot()
        for round in 0..<50 { try store.write { try put($0, "key \(round * 5)", round) } }
        let waiting = try store.engine.statistics().waitingNodes
        for round in 0..<200 { try store.write { try put($0, "key \(round % 250)", round) } }
        let later = try store.engine.statistics().waitingNodes
        #expect(later < waiting + 60, "\(waiting) nodes waited after 50 commits, \(later) after 250")
        #expect(try old.index(old.tree(named: "t")!).count == 300)
    }

    @Test func anAbortLeavesNothing() throws {
        let store = try TestStore()
        try store.write { _ = try $0.createIndex(named: "t") }
        let before = try store.engine.statistics().poolInUse
        for _ in 0..<20 {
            let transaction = try store.engine.begin()
            for i in 0..<100 { try put(transaction, "key \(i)", i) }
            _ = try transaction.createIndex(named: "other")
            transaction.abort()
        }
        #expect(try store.engine.statistics().poolInUse == before)
        #expect(try store.engine.snapshot().treeNames == ["t"])
        #expect(try number(store.engine, "key 1") == nil)
        try store.write { try put($0, "b", 2) }
        #expect(try number(store.engine, "b") == 2)
    }

    @Test func aDroppedTransactionAborts() throws {
        let store = try TestStore()
        do { _ = try store.engine.begin() }
        try store.write { _ = try $0.createIndex(named: "t") }
        #expect(store.engine.latest.rawValue == 1)
    }

    @Test func anEmptyTransactionMakesNoVersion() throws {
        let store = try TestStore()
        #expect(try store.engine.begin().commit() == .zero)
        #expect(store.engine.latest == .zero)
    }

    @Test(arguments: [true, false])
    func bigTransactionsAreCommittedByACheckpoint(_ isClosed: Bool) throws {
        let disk = MemoryFileSystem()
        let store = try TestStore(pageSize: 1024, fileSystem: disk) { $0.attachThreshold = 20_000 }
        try store.write { _ = try $0.createIndex(named: "t") }
        try store.write { try put($0, "before", 1) }
        try store.write { transaction in for i in 0..<5000 { try put(transaction, "key \(i)", i) } }
        try store.write { try put($0, "after", 2) }
        #expect(try store.engine.statistics().logBytes < 20_000)
        #expect(try number(store.engine, "key 4999") == 4999)
        if isClosed { try store.reopen() }
        #expect(try number(store.engine, "key 4999") == 4999)
        #expect(try number(store.engine, "before") == 1)
        #expect(try number(store.engine, "after") == 2)
        #expect(try store.engine.check().problems == [])
    }

    @Test func sequenceNumbersAreNeverGivenOutTwice() throws {
        let store = try TestStore()
        var seen: Set<UInt64> = []
        for round in 0..<6 {
            try store.write { transaction in
                let first = try transaction.reserve(5)
                for key in first..<first + 5 { #expect(seen.insert(key).inserted) }
            }
            if round % 2 == 1 { try store.reopen() }
        }
        #expect(seen.min() == 1)
    }

    @Test func namedValuesSurviveReopening() throws {
        let store = try TestStore()
        let large = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try store.write { try $0.setValue("model", large) }
        try store.write { try $0.setValue("other", [1]) }
        try store.reopen()
        #expect(try store.engine.snapshot().value("model") == large)
        try store.write { try $0.setValue("model", nil) }
        try store.reopen()
        #expect(try store.engine.snapshot().value("model") == nil)
        #expect(try store.engine.snapshot().value("other") == [1])
    }

    @Test func droppedTreesAreGone() throws {
        let store = try TestStore()
        try store.write { _ = try $0.createIndex(named: "t") }
        try store.write { transaction in for i in 0..<500 { try put(transaction, "key \(i)", i) } }
        try store.engine.checkpoint()
        try store.write { try $0.drop($0.tree(named: "t")!) }
        #expect(try store.engine.snapshot().treeNames == [])
        try store.write { _ = try $0.createIndex(named: "t") }
        #expect(try number(store.engine, "key 1") == nil)
        try store.reopen()
        #expect(try store.engine.snapshot().treeNames == ["t"])
        #expect(try store.engine.check().problems == [])
    }

    @Test func lazyCommitsAreSeenAtOnceAndSyncedLater() throws {
        let faults = FaultInjector(MemoryFileSystem())
        let store = try TestStore(fileSystem: faults)
        try store.write { _ = try $0.createIndex(named: "t") }
        faults.resetCounts()
        for value in 0..<10 {
            let transaction = try store.engine.begin()
            try put(transaction, "a", value)
            _ = try transaction.commit(.lazy(maxDelay: .milliseconds(50)))
            #expect(try number(store.engine, "a") == value)
        }
        #expect(faults.count(of: [.sync], kind: .log) == 0)
        try store.write { try put($0, "b", 1) }
        #expect(faults.count(of: [.sync], kind: .log) == 1)
    }

    @Test func aCommitIsOneWriteAndOneSync() throws {
        let faults = FaultInjector(MemoryFileSystem())
        let store = try TestStore(fileSystem: faults)
        try store.write { _ = try $0.createIndex(named: "t") }
        faults.resetCounts()
        for value in 0..<10 { try store.write { try put($0, "a", value) } }
        #expect(faults.count(of: [.sync]) == 10)
        #expect(faults.count(of: [.write], kind: .log) == 10)
    }

    /// The versions that a store published.
    private final class Announcements: Sendable {
        let numbers = Guarded<[UInt64]>([])
    }

    @Test func concurrentWritersShareSyncsAndLoseNothing() async throws {
        let store = try TestStore(pageSize: 4096) { $0.usesBackgroundThread = true }
        try store.write { _ = try $0.createIndex(named: "t") }
        let engine = store.engine
        let seen = Announcements()
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for i in 0..<40 {
                        do {
                            let transaction = try engine.begin()
                            let tree = transaction.tree(named: "t")!
                            let old = try transaction.index(tree).get([1]).map { $0[0] } ?? 0
                            try transaction.put([1], [old &+ 1], in: tree)
                            try transaction.put(Array("\(writer) \(i)".utf8), [UInt8(i)], in: tree)
                            _ = try transaction.commit { number in seen.numbers.withLock { $0.append(number.rawValue) } }
                        } catch { Issue.record(error) }
                    }
                }
            }
            group.addTask {
                for _ in 0..<200 {
                    do {
                        let snapshot = try engine.snapshot()
                        let index = try snapshot.index(snapshot.tree(named: "t")!)
                        var count = 0
                        try index.forEach(in: KeyRange(from: [2])) { _, _ in
                            count += 1
                            return true
                        }
                        let total = try index.get([1])?[0] ?? 0
                        #expect(count % 256 == Int(total), "a reader saw half a transaction")
                    } catch { Issue.record(error) }
                }
            }
        }
        #expect(seen.numbers.withLock { $0 } == Array(2...321), "versions are announced in order, each once")
        let snapshot = try engine.snapshot()
        #expect(try snapshot.index(snapshot.tree(named: "t")!).count == 321)
        try engine.close()
    }

    @Test func dumpShowsTreesAndNodes() throws {
        let store = try TestStore(pageSize: 512)
        try store.write { transaction in
            _ = try transaction.createIndex(named: "t")
            for i in 0..<40 { try put(transaction, "key \(i + 10)", i) }
        }
        try store.engine.checkpoint()
        var lines: [String] = []
        try store.engine.dump(tree: "t", leaves: true) { lines.append($0) }
        #expect(lines[0] == "transaction #1, next object key 1")
        #expect(lines[1] == "t2 index t: 40 entries")
        #expect(lines.count { $0.contains("leaf at file 1") } >= 2)
        #expect(lines[3].hasSuffix("keys 6b6579203130 … 6b6579203339"), "\(lines[3])")
    }

    @Test func dumpShowsLayoutsEmptyTreesAndNamedValues() throws {
        let store = try TestStore(pageSize: 512)
        let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bytes)])
        try store.write { transaction in
            _ = try transaction.createIndex(named: "empty")
            let table = try transaction.createTable(named: "rows", layout: layout)
            let buffer = RowBuffer(layout: layout)
            for key in 1...100 as ClosedRange<UInt64> {
                buffer.reset()
                buffer.set(0, key)
                try transaction.put(buffer, key: key, in: table)
            }
            try transaction.setValue("a name of more than sixteen bytes", [1])
        }
        func lines(leaves: Bool) throws -> [String] {
            var lines: [String] = []
            try store.engine.dump(leaves: leaves) { lines.append($0) }
            return lines
        }
        let trees = try lines(leaves: false)
        #expect(trees.contains { $0.hasSuffix("index (named values): 1 entries") }, "\(trees)")
        #expect(trees.contains { $0.hasSuffix("index empty: 0 entries") })
        #expect(trees.contains { $0.hasSuffix("table rows: 100 entries") })
        #expect(trees.contains("  layout 1: c1 fixed8, c2 bytes"))
        #expect(trees.contains { $0.hasPrefix("  level 1 at frame ") && $0.hasSuffix("100 entries below") })
        #expect(!trees.contains { $0.contains("leaf at") })
        let all = try lines(leaves: true)
        #expect(all.contains { $0.contains("leaf at frame") && $0.contains("keys 1 … ") })
        #expect(all.contains { $0.hasSuffix("keys 61206e616d65206f66206d6f72652074… … 61206e616d65206f66206d6f72652074…") }, "\(all)")
    }
}
