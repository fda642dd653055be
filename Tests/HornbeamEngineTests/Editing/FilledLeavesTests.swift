import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Big transactions write the leaves that they fill at the end of a table while they fill the next ones.
@Suite struct FilledLeavesTests {
    private final class Subject {
        let store: TestStore
        let table: TreeID
        let pageSize: Int
        var model: [UInt64: OracleRow] = [:]
        var last: UInt64 = 0
        private let buffer = RowBuffer(layout: OracleRow.layout)

        init(on disk: any FileSystem = MemoryFileSystem(), pageSize: Int = 512, frames: Int = 2000) throws {
            self.pageSize = pageSize
            store = try TestStore(pageSize: pageSize, fileSystem: disk) { options in
                options.poolBytes = frames * pageSize
                options.pageFileBytes = 64 << 10
            }
            table = try store.write { try $0.createTable(named: "table", layout: OracleRow.layout) }
        }

        /// A transaction whose commit writes pages in place of redo.
        func begin() throws -> WriteTransaction {
            let transaction = try store.engine.begin()
            try transaction.applyDeferred()
            transaction.redo.abandon()
            return transaction
        }

        func put(_ keys: some Sequence<UInt64>, _ transaction: WriteTransaction, _ random: inout SplitMix) throws {
            for key in keys {
                let row = OracleRow.random(pageSize: pageSize, &random)
                row.fill(buffer)
                try transaction.put(buffer, key: key, in: table)
                model[key] = row
            }
        }

        /// Appends rows, mostly with consecutive keys.
        func append(_ count: Int, _ transaction: WriteTransaction, _ random: inout SplitMix) throws {
            for _ in 0..<count {
                last += Int.random(in: 0..<100, using: &random) == 0 ? 3 : 1
                try put([last], transaction, &random)
            }
        }

        /// Changes or deletes some rows, near the end more often than elsewhere.
        func change(_ transaction: WriteTransaction, _ random: inout SplitMix) throws {
            guard last > 0 else { return }
            let first = last - min(last - 1, [0, 2, 20, 200, 5000].randomElement(using: &random)!)
            // All of the last ones, so that the last leaf is empty and the one before is filled again.
            let isEnd = last - first < 3
            let keys = isEnd ? Array(first...last) : Set((0..<12).map { _ in UInt64.random(in: first...last, using: &random) }).sorted()
            let rows = try transaction.table(table).selection(of: keys.filter { model[$0] != nil })
            switch Int.random(in: 0..<5, using: &random) {
            case 0: try put(keys, transaction, &random)
            case 1:
                _ = try transaction.delete(keys, from: table)
                for key in keys { model[key] = nil }
            case 2:
                unsafe try Array(repeating: Int64(7), count: keys.count).withUnsafeBytes {
                    unsafe try transaction.patch(0, of: keys, values: $0, in: table)
                }
                for key in keys { model[key]?.long = 7 }
            case 3:
                try transaction.alter(rows, by: [.add(column: 0, step: 5)], in: table)
                for key in rows.keys { model[key]?.long? &+= 5 }
            default:
                try transaction.delete(rows, from: table)
                for key in rows.keys { model[key] = nil }
            }
        }

        /// The pages are read from the disk.
        func expectContent(_ seed: UInt64) throws {
            try store.reopen()
            try TableModelTests.expectEqual(try store.engine.snapshot().table(table), model)
            #expect(try store.engine.check().problems == [], "seed \(seed)")
        }
    }

    @Test(
        "a table has the rows of a dictionary, whichever leaves change while they are packed", arguments: [(512, 2000), (512, 40), (4096, 2000), (16_384, 60)],
        1...3 as ClosedRange<UInt64>)
    func resemblesADictionary(_ size: (page: Int, frames: Int), seed: UInt64) throws {
        let pageSize = size.page
        let subject = try Subject(pageSize: pageSize, frames: size.frames)
        var random = SplitMix(seed: seed)
        var writtenEarly = 0
        for round in 0..<6 {
            let (model, last) = (subject.model, subject.last)
            let transaction = try subject.begin()
            for _ in 0..<8 {
                try subject.append(Int.random(in: 1...2 * pageSize, using: &random) / (pageSize / 256), transaction, &random)
                for _ in 0..<Int.random(in: 0...2, using: &random) { try subject.change(transaction, &random) }
            }
            try TableModelTests.expectEqual(try transaction.table(subject.table), subject.model)
            writtenEarly += transaction.earlyLeaves?.pages.count ?? 0
            if round == 3 {
                transaction.abort()
                (subject.model, subject.last) = (model, last)
            } else {
                _ = try transaction.commit()
            }
            try subject.expectContent(seed)
        }
        #expect(writtenEarly > 30, "\(writtenEarly) leaves were written before their commits, seed \(seed)")
    }

    /// A leaf was twice in a set if the leaf behind it was emptied and begun again. Its second copy was written without later changes.
    @Test(arguments: [false, true])
    func aLeafThatIsFilledTwiceKeepsItsChanges(isIndex: Bool) throws {
        let store = try TestStore(pageSize: 512) { $0.poolBytes = 2000 * 512 }
        let (table, index) = try store.write { (try $0.createTable(named: "table", layout: OracleRow.layout), try $0.createIndex(named: "index")) }
        let transaction = try store.engine.begin()
        try transaction.applyDeferred()
        transaction.redo.abandon()
        let row = RowBuffer(layout: OracleRow.layout)
        func key(_ number: UInt64) -> [UInt8] { unsafe withUnsafeBytes(of: number.bigEndian) { unsafe Array($0) } }
        func put(_ number: UInt64, _ long: Int64) throws {
            if isIndex { return try transaction.put(key(number), [UInt8(long)], in: index) }
            row.reset()
            row.set(0, long)
            try transaction.put(row, key: number, in: table)
        }
        let editor = try isIndex ? transaction.index(editing: index) : transaction.table(editing: table)
        var last: UInt64 = 0
        var changed: [UInt64] = []
        for _ in 0..<60 {
            // Until a leaf has begun, which is emptied and begun again.
            let before = editor.filled?.count ?? 0
            repeat {
                last += 1
                try put(last, 1)
            } while editor.filled?.count ?? 0 == before
            _ = try isIndex ? transaction.delete(key(last), from: index) : transaction.delete(last, from: table)
            try put(last, 1)
            // A row of the leaf before it, which is being packed after some rounds.
            changed.append(last - 2)
            for number in changed.suffix(20) { try put(number, Int64(changed.count)) }
        }
        let count = changed.count
        _ = try transaction.commit()
        try store.reopen()
        let snapshot = try store.engine.snapshot()
        for (round, number) in changed.enumerated() {
            let expected = min(round + 20, count)
            if isIndex {
                #expect(try snapshot.index(index).get(key(number)) == [UInt8(expected)], "row \(number)")
            } else {
                let row = try snapshot.table(table).withRow(number) { (row) throws(EngineError) in try OracleRow(row) }
                #expect(row?.long == Int64(expected), "row \(number)")
            }
        }
        #expect(try store.engine.check().problems == [])
    }

    @Test("an index and two tables are filled in turn, with new layouts and dropped trees between", arguments: 1...3 as ClosedRange<UInt64>)
    func severalTrees(seed: UInt64) throws {
        let subject = try Subject()
        var random = SplitMix(seed: seed)
        let transaction = try subject.begin()
        let index = try transaction.createIndex(named: "index")
        var keys: [[UInt8]] = []
        for round in 0..<12 {
            try subject.append(300, transaction, &random)
            let batch = EntryBatch()
            for n in 0..<400 {
                let key = Array("key \(round * 400 + n + 10_000)".utf8)
                keys.append(key)
                if round % 2 == 0 { try transaction.put(key, [UInt8(n % 200)], in: index) }
                if round % 2 == 1 { unsafe key.withUnsafeBytes { key in unsafe [UInt8(n % 200)].withUnsafeBytes { unsafe batch.append(key, $0) } } }
            }
            try transaction.put(batch, in: index)
            let other = try transaction.createTable(named: "other", layout: OracleRow.layout)
            let row = RowBuffer(layout: OracleRow.layout)
            for key in 1...500 as ClosedRange<UInt64> {
                row.reset()
                try transaction.put(row, key: key, in: other)
            }
            if round % 3 == 0 {
                let columns = OracleRow.layout.columns + [Column(id: ColumnID(9), kind: .fixed8)]
                try transaction.setLayout(ColumnLayout(version: 2, columns: columns), of: other)
            }
            try transaction.drop(other)
        }
        #expect(try #require(transaction.earlyLeaves).leafWriters.count > 2)
        _ = try transaction.commit()
        try subject.expectContent(seed)
        let view = try subject.store.engine.snapshot().index(index)
        #expect(view.count == keys.count)
        for (n, key) in keys.enumerated() { try #require(try view.get(key) == [UInt8(n % 400 % 200)]) }
    }

    @Test func aTransactionThatIsReleasedWhileLeavesArePackedIsAborted() throws {
        let subject = try Subject()
        var random = SplitMix(seed: 4)
        for _ in 0..<20 {
            let (model, last) = (subject.model, subject.last)
            let transaction = try subject.begin()
            try subject.append(Int.random(in: 100...900, using: &random), transaction, &random)
            (subject.model, subject.last) = (model, last)
        }
        try subject.expectContent(4)
    }

    @Test("only the last leaves are left for the commit")
    func mostLeavesAreWrittenBeforeTheCommit() throws {
        let subject = try Subject()
        var random = SplitMix(seed: 1)
        let transaction = try subject.begin()
        try subject.append(3000, transaction, &random)
        // A set that the transaction fills, and one that is being packed.
        try transaction.finishChanges()
        var leaves = 0
        try transaction.table(subject.table).forEachLeaf { _ throws(EngineError) in
            leaves += 1
            return true
        }
        let set = FilledLeaves.leavesTogether(subject.store.engine.core.pool)
        #expect(leaves > 4 * set)
        #expect(try #require(transaction.earlyLeaves).pages.count > leaves - set)
        _ = try transaction.commit()
        try subject.expectContent(1)
    }

    @Test("a small transaction packs nothing before its commit")
    func smallTransactionsWriteRedo() throws {
        let subject = try Subject()
        var random = SplitMix(seed: 2)
        let transaction = try subject.store.engine.begin()
        try subject.append(20, transaction, &random)
        #expect(transaction.earlyLeaves == nil)
        _ = try transaction.commit()
        try subject.expectContent(2)
    }

    @Test("after a failed write the transaction is aborted, and nothing has changed", arguments: 0..<8)
    func failedWrites(after count: Int) throws {
        let faults = FaultInjector(MemoryFileSystem())
        let subject = try Subject(on: faults)
        var random = SplitMix(seed: 3)
        try subject.store.write { try subject.append(100, $0, &random) }
        let (model, last) = (subject.model, subject.last)
        let transaction = try subject.begin()
        faults.add(FaultRule(.fail(.full), calls: [.write, .create], kind: .pages, after: count))
        let error = #expect(throws: EngineError.self) {
            for _ in 0..<200 {
                try subject.append(100, transaction, &random)
                try subject.change(transaction, &random)
            }
            _ = try transaction.commit()
        }
        #expect(error?.code == .full)
        transaction.abort()
        faults.removeRules()
        (subject.model, subject.last) = (model, last)
        try subject.expectContent(3)
        let next = try subject.begin()
        try subject.append(1000, next, &random)
        _ = try next.commit()
        try subject.store.reopen()
        try subject.expectContent(3)
    }
}
