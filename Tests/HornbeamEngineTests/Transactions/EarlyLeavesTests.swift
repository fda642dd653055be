import Testing

@testable import HornbeamEngine

/// Big transactions write leaves before their commit, so that they need no more memory than the pool has.
@Suite struct EarlyLeavesTests {
    private static let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bytes)])

    /// A store with an index and a table. The leaves of the transactions below take several times its pool.
    private final class Subject {
        let disk = MemoryFileSystem()
        let store: TestStore
        let index: TreeID
        let table: TreeID
        var entries: [[UInt8]: [UInt8]] = [:]
        var rows: Set<UInt64> = []
        private(set) var unwrittenMax = 0

        init() throws {
            store = try TestStore(fileSystem: disk) { options in
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
            for number in range.shuffled(using: &random) {
                let key = Array("key \(number % 9000)".utf8)
                if number % 11 == 0 {
                    _ = try transaction.delete(key, from: index)
                    entries[key] = nil
                } else {
                    let value = Array("value \(number)".utf8)
                    try transaction.put(key, value, in: index)
                    entries[key] = value
                }
                row.reset()
                row.set(0, number)
                row.setString(1, "a text of the row \(number)")
                try transaction.put(row, key: number % 9000 + 1, in: table)
                rows.insert(number % 9000 + 1)
                unwrittenMax = max(unwrittenMax, store.engine.core.pool.unwritten)
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

    @Test(arguments: [1, 2, 3] as [UInt64])
    func aBigTransactionNeedsNoMoreMemoryThanThePool(seed: UInt64) throws {
        let subject = try Subject()
        var random = SplitMix(seed: seed)
        try subject.store.write { try subject.change($0, 0..<3000, &random) }
        try subject.store.write { try subject.change($0, 3000..<20_000, &random) }
        #expect(subject.unwrittenMax < 256, "\(subject.unwrittenMax) nodes were in memory only, seed \(seed)")
        try subject.expectContent()
        try subject.store.reopen()
        try subject.expectContent()
        try subject.store.write { try subject.change($0, 20_000..<21_000, &random) }
        try subject.expectContent()
    }

    @Test func anAbortedTransactionLeavesNoPages() throws {
        let subject = try Subject()
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

    @Test func replacedLeavesOfATransactionAreDead() throws {
        let subject = try Subject()
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
}
