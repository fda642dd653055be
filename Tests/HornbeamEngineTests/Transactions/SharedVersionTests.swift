import HornbeamThreads
import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Several transactions in one version: each has its number, its log record and its callback.
@Suite struct SharedVersionTests {
    private func store(_ disk: SimulatedDisk) throws -> TestStore {
        let store = try TestStore(fileSystem: disk)
        try store.write { _ = try $0.createIndex(named: "t") }
        return store
    }

    private func put(_ transaction: WriteTransaction, _ key: UInt8) throws {
        try transaction.put([key], [key], in: transaction.tree(named: "t")!)
    }

    private func keys(_ engine: Engine) throws -> [UInt8] {
        var keys: [UInt8] = []
        let snapshot = try engine.snapshot()
        try snapshot.index(snapshot.tree(named: "t")!).forEach(in: KeyRange()) { (key, _) throws(EngineError) -> Bool in
            keys.append(key[0])
            return true
        }
        return keys
    }

    @Test func eachCommitIsPublishedWithItsNumberAndReplayed() throws {
        let disk = SimulatedDisk()
        let store = try store(disk)
        let reported = Guarded<[UInt64]>([])
        let report: @Sendable (TransactionNumber) -> Void = { number in reported.withLock { $0.append(number.rawValue) } }
        let base = store.engine.latest.rawValue
        let transaction = try store.engine.begin()
        var numbers: [UInt64] = []
        for key in 1...3 as ClosedRange<UInt8> {
            try put(transaction, key)
            numbers.append(try transaction.endAndBeginNext(published: report).rawValue)
        }
        try put(transaction, 4)
        var steps: [String] = []
        let noted = CommitSteps(executed: { steps.append("executed") }, logged: { steps.append($0 ? "logged" : "refused") })
        numbers.append(try transaction.commit(.full, steps: noted, published: report).rawValue)
        #expect(steps == ["executed", "logged"])
        #expect(numbers == (1...4).map { base + $0 })
        #expect(reported.withLock(\.self) == numbers)
        #expect(store.engine.latest.rawValue == base + 4)
        #expect(store.engine.core.pipeline.statistics.commits >= 4)
        // The disk with the log not replayed: the store was not closed.
        let again = try TestStore(fileSystem: disk.copy())
        #expect(again.engine.latest.rawValue == base + 4)
        #expect(try keys(again.engine) == [1, 2, 3, 4])
        try again.write { try put($0, 5) }
        #expect(again.engine.latest.rawValue == base + 5)
        #expect(try again.engine.check().problems == [])
    }

    @Test("a transaction without changes has no number, at any position in a group", arguments: 0..<8)
    func withoutChangesThereIsNoNumber(pattern: Int) throws {
        let disk = SimulatedDisk()
        let store = try store(disk)
        let reported = Guarded(0)
        let base = store.engine.latest.rawValue
        let transaction = try store.engine.begin()
        var changed: UInt64 = 0
        for place in 0..<3 {
            if pattern >> place & 1 == 1 {
                changed += 1
                try put(transaction, UInt8(place))
            }
            if place < 2 {
                #expect(try transaction.endAndBeginNext { _ in reported.withLock { $0 += 1 } }.rawValue == base + changed)
            }
        }
        #expect(try transaction.commit { _ in reported.withLock { $0 += 1 } }.rawValue == base + changed)
        #expect(reported.withLock(\.self) == Int(changed))
        #expect(store.engine.latest.rawValue == base + changed)
        let again = try TestStore(fileSystem: disk.copy())
        #expect(again.engine.latest.rawValue == base + changed)
        #expect(try keys(again.engine) == (0..<3).filter { pattern >> $0 & 1 == 1 }.map { UInt8($0) })
    }

    @Test func anAbortDropsAll() throws {
        let store = try store(SimulatedDisk())
        let before = store.engine.latest
        let transaction = try store.engine.begin()
        try put(transaction, 1)
        _ = try transaction.endAndBeginNext { _ in Issue.record("nothing was committed") }
        try put(transaction, 2)
        transaction.abort()
        #expect(store.engine.latest == before)
        #expect(try keys(store.engine).isEmpty)
        try store.write { try put($0, 3) }
        #expect(store.engine.latest == before.next)
    }

    @Test func onlySmallTransactionsAreShared() throws {
        let store = try store(SimulatedDisk())
        let transaction = try store.engine.begin()
        try transaction.put([1], [UInt8](repeating: 7, count: 2_000), in: transaction.tree(named: "t")!)
        #expect(!transaction.canAddTransaction, "a large value is synced by itself")
        transaction.abort()
        let many = try store.engine.begin()
        for key in 0..<2_000 as Range<UInt32> {
            try many.put(withUnsafeBytes(of: key.bigEndian) { [UInt8]($0) }, [UInt8](repeating: 7, count: 40), in: many.tree(named: "t")!)
        }
        #expect(!many.canAddTransaction)
        many.abort()
        let longRow = try store.engine.begin()
        for key in 0..<70 as Range<UInt8> where longRow.canAddTransaction {
            try put(longRow, key)
            _ = try longRow.endAndBeginNext(published: nil)
        }
        #expect(longRow.ended.count == 64)
        longRow.abort()
    }

    /// 64 transactions of any size shared one version, so that the pool could not write the leaves of the last ones.
    @Test func transactionsWithoutRedoAreNotShared() throws {
        let store = try TestStore { $0.logsChanges = false }
        try store.write { _ = try $0.createIndex(named: "t") }
        let transaction = try store.engine.begin()
        #expect(!transaction.canAddTransaction)
        for key in 0..<200 as Range<UInt8> { try put(transaction, key) }
        #expect(!transaction.canAddTransaction)
        _ = try transaction.commit()
        #expect(try keys(store.engine).count == 200)
    }
}
