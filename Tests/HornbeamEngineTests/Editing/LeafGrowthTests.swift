import Testing

@testable import HornbeamEngine

/// Leaves whose rows or keys need more space after a rebuild than before.
@Suite struct LeafGrowthTests {
    @Test(arguments: [512, 1024, 16384])
    func rowsThatGrowWithANewLayoutTakeAsManyPagesAsTheyNeed(_ pageSize: Int) throws {
        let small = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed1)])
        let large = ColumnLayout(
            version: 2,
            columns: [Column(id: ColumnID(1), kind: .fixed1), Column(id: ColumnID(2), kind: .fixed16)]
                + [Column(id: ColumnID(3), kind: .bytes, fill: [UInt8](repeating: 7, count: pageSize / 16))])
        let store = try TestStore(pageSize: pageSize)
        let count: UInt64 = 1000
        let tree = try store.write { transaction in
            let tree = try transaction.createTable(named: "t", layout: small)
            let row = RowBuffer(layout: small)
            for key in 1...count {
                row.set(0, UInt8(truncatingIfNeeded: key))
                try transaction.put(row, key: key, in: tree)
            }
            return tree
        }
        try store.write { transaction in
            try transaction.setLayout(large, of: tree)
            let row = RowBuffer(layout: large)
            row.set(0, UInt8(1))
            try transaction.put(row, key: count + 1, in: tree)
            try transaction.put(row, key: 500, in: tree)
            let ones = [UInt8](repeating: 9, count: 3)
            try ones.withUnsafeBytes { try transaction.patch(0, of: [1, 250, 750], values: $0, in: tree) }
        }
        #expect(try store.engine.check().problems == [])
        let table = try store.engine.snapshot().table(tree)
        #expect(table.count == Int(count) + 1)
        for (key, first, fill) in [(1, 9, pageSize / 16), (2, 2, pageSize / 16), (500, 1, 0), (750, 9, pageSize / 16)] {
            let found = try table.withRow(UInt64(key)) { row throws(EngineError) in
                (Int(row.load(0, as: UInt8.self)), try row.bytes(2).count)
            }
            #expect(try #require(found) == (first, fill), "row \(key)")
        }
        try store.reopen()
        #expect(try store.engine.check().problems == [])
    }

    /// A new leaf at the end has room for the differences of keys that the leaf before needs, but not if its last keys are consecutive. So only the first
    /// leaf of dense rows has it.
    @Test(arguments: [512, 1024, 16384])
    func denseRowsTakeAtMostALeafMoreAfterSparseOnes(_ pageSize: Int) throws {
        let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed1)])
        func liveBytes(_ ranges: [StrideThrough<UInt64>]) throws -> UInt64 {
            let store = try TestStore(pageSize: pageSize)
            let tree = try store.write { try $0.createTable(named: "t", layout: layout) }
            for keys in ranges {
                try store.write { transaction in
                    let row = RowBuffer(layout: layout)
                    row.set(0, UInt8(1))
                    for key in keys { try transaction.put(row, key: key, in: tree) }
                }
            }
            let found = try store.engine.snapshot().table(tree)
            #expect(found.count == ranges.reduce(0) { $0 + Array($1).count })
            for keys in ranges { for key in keys { #expect(try found.contains(key)) } }
            #expect(try store.engine.check().problems == [])
            try store.reopen()
            return try store.engine.statistics().liveBytes
        }
        let (sparse, dense) = (stride(from: 1 as UInt64, through: 30_000, by: 10), stride(from: 40_000 as UInt64, through: 60_000, by: 1))
        #expect(try liveBytes([sparse, dense]) <= liveBytes([sparse]) + liveBytes([dense]) + UInt64(pageSize))
    }

    /// All leaves behind a gap between two keys had the key width of the leaf with the gap.
    @Test(arguments: [512, 1024, 16384])
    func aGapBetweenKeysWidensFewLeaves(_ pageSize: Int) throws {
        let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed1)])
        func pages(_ keys: [UInt64]) throws -> Int {
            let store = try TestStore(pageSize: pageSize)
            let tree = try store.write { transaction in
                let tree = try transaction.createTable(named: "t", layout: layout)
                let row = RowBuffer(layout: layout)
                row.set(0, UInt8(1))
                for key in keys { try transaction.put(row, key: key, in: tree) }
                return tree
            }
            let table = try store.engine.snapshot().table(tree)
            for key in keys { try #require(try table.contains(key)) }
            let report = try store.engine.check()
            #expect(report.problems == [])
            return report.pages
        }
        let start = 1 << 40 as UInt64
        let keys = Array(stride(from: start, to: start + 200_000, by: 10))
        #expect(try pages([1] + keys) <= pages(keys) + 4)
    }

    /// Each leaf receives several rows between those that it has: some in place, others when it is rebuilt or split.
    @Test(arguments: [512, 1024, 16384], [false, true])
    func rowsBetweenOthersKeepAllCells(_ pageSize: Int, putsTogether: Bool) throws {
        let layout = ColumnLayout(
            columns: [Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bit), Column(id: ColumnID(3), kind: .bytes)])
        let store = try TestStore(pageSize: pageSize)
        let keys = (1 ... 3000 as ClosedRange<UInt64>).map { $0 }
        func fill(_ key: UInt64, _ row: RowBuffer) {
            row.reset()
            if key % 3 != 0 { row.set(0, key) }
            if key % 5 != 0 { row.setBit(1, key % 2 == 0) }
            if key % 7 != 0 { row.setString(2, String(repeating: "\(key % 10)", count: Int(key % 11))) }
        }
        func put(_ key: UInt64, _ row: RowBuffer, _ tree: TreeID, _ transaction: WriteTransaction) throws {
            fill(key, row)
            #expect(try transaction.put(row, key: key, in: tree))
        }
        let tree = try store.write { transaction in
            let tree = try transaction.createTable(named: "t", layout: layout)
            let row = RowBuffer(layout: layout)
            for key in keys where key % 60 < 2 { try put(key, row, tree, transaction) }
            return tree
        }
        try store.write { transaction in
            let between = keys.filter { $0 % 60 >= 2 }
            guard putsTogether else {
                let row = RowBuffer(layout: layout)
                for key in between { try put(key, row, tree, transaction) }
                return
            }
            let rows = (0 ..< 25).map { _ in RowBuffer(layout: layout) }
            for start in stride(from: 0, to: between.count, by: rows.count) {
                let part = Array(between[start ..< min(start + rows.count, between.count)])
                for (key, row) in zip(part, rows) { fill(key, row) }
                #expect(try transaction.put(rows[..<part.count], part, in: tree))
            }
        }
        #expect(try store.engine.check().problems == [])
        let table = try store.engine.snapshot().table(tree)
        #expect(table.count == keys.count)
        for key in keys {
            let found = try table.withRow(key) { row throws(EngineError) in
                try (row.isNull(0) ? nil : row.load(0, as: UInt64.self), row.isNull(1) ? nil : row.bit(1), row.isNull(2) ? nil : row.string(2))
            }
            let (number, bit, text) = try #require(found)
            #expect(number == (key % 3 == 0 ? nil : key) && bit == (key % 5 == 0 ? nil : key % 2 == 0), "row \(key)")
            #expect(text == (key % 7 == 0 ? nil : String(repeating: "\(key % 10)", count: Int(key % 11))), "row \(key)")
        }
    }

    @Test func rowsPutTogetherMustBeNew() throws {
        let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed8)])
        let store = try TestStore(pageSize: 4096)
        let tree = try store.write { try $0.createTable(named: "t", layout: layout) }
        for existing in [1, 500] as [UInt64] {
            try store.write { transaction in
                let row = RowBuffer(layout: layout)
                row.set(0, existing)
                for key in existing ..< existing + 40 { try transaction.put(row, key: key, in: tree) }
            }
            let transaction = try store.engine.begin()
            let rows = (0 ..< 20).map { _ in RowBuffer(layout: layout) }
            // The first changes of a transaction are deferred, the others are not.
            for first in [2_000, 2_020] as [UInt64] { #expect(try transaction.put(rows[...], (first ..< first + 20).map { $0 }, in: tree)) }
            #expect(try !transaction.put(rows[...], (existing - 1 ..< existing + 19).map { $0 }, in: tree))
            transaction.abort()
        }
    }

    /// After the reopening, leaves have no free bytes. A text that is not longer than before uses the bytes of the replaced one.
    @Test func replacedRowsOfPackedLeavesKeepAllTexts() throws {
        let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .bytes), Column(id: ColumnID(2), kind: .bytes)])
        let store = try TestStore(pageSize: 4096)
        func put(_ key: UInt64, _ first: Int?, _ second: Int, _ row: RowBuffer, _ tree: TreeID, _ transaction: WriteTransaction) throws {
            row.reset()
            if let first { row.setString(0, String(repeating: "\(key % 10)", count: first)) }
            row.setString(1, String(repeating: "x", count: second))
            try transaction.put(row, key: key, in: tree)
        }
        let tree = try store.write { transaction in
            let tree = try transaction.createTable(named: "t", layout: layout)
            let row = RowBuffer(layout: layout)
            for key in 1...600 as ClosedRange<UInt64> { try put(key, 20, 10, row, tree, transaction) }
            return tree
        }
        let lengths: [(first: Int?, second: Int)] = [(20, 10), (5, 10), (nil, 10), (20, 0), (40, 3), (0, 90)]
        for round in 0..<3 {
            try store.reopen()
            try store.write { transaction in
                let row = RowBuffer(layout: layout)
                for key in 1...600 as ClosedRange<UInt64> where Int(key) % 3 <= round {
                    let (first, second) = lengths[(Int(key) + round) % lengths.count]
                    try put(key, first, second, row, tree, transaction)
                }
            }
            #expect(try store.engine.check().problems == [])
        }
        let table = try store.engine.snapshot().table(tree)
        for key in 1...600 as ClosedRange<UInt64> {
            let (first, second) = lengths[(Int(key) + 2) % lengths.count]
            let found = try table.withRow(key) { row throws(EngineError) in
                try (row.isNull(0) ? nil : row.bytes(0), row.bytes(1))
            }
            let row = try #require(found)
            #expect(row.0 == first.map { [UInt8](repeating: UInt8(48 + key % 10), count: $0) }, "row \(key)")
            #expect(row.1 == [UInt8](repeating: 120, count: second), "row \(key)")
        }
    }

    @Test func aDistantKeyWidensKeysOfAFullLeaf() throws {
        let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed4)])
        let store = try TestStore(pageSize: 16384)
        let tree = try store.write { transaction in
            let tree = try transaction.createTable(named: "t", layout: layout)
            let row = RowBuffer(layout: layout)
            for key in (1...9000 as ClosedRange<UInt64>).map({ $0 }) + [1 << 41, 1 << 40, 1 << 39] {
                row.set(0, UInt32(truncatingIfNeeded: key))
                try transaction.put(row, key: key, in: tree)
            }
            return tree
        }
        #expect(try store.engine.check().problems == [])
        #expect(try store.engine.snapshot().table(tree).count == 9003)
    }

    @Test func layoutsWhoseRowsMayNotFitAreRefused() throws {
        let store = try TestStore(pageSize: 16384)
        let transaction = try store.engine.begin()
        let bits = ColumnLayout(columns: (1...1100).map { Column(id: ColumnID($0), kind: .bit) })
        #expect(throws: EngineError.self) { _ = try transaction.createTable(named: "bits", layout: bits) }
        let fill = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .bytes, fill: [UInt8](repeating: 1, count: 40_000))])
        #expect(throws: EngineError.self) { _ = try transaction.createTable(named: "fill", layout: fill) }
        transaction.abort()
    }

    /// An inner node that shares a long prefix must take a separator that does not: the first leaf was emptied, so
    /// that even the first key is a long one.
    @Test(arguments: [512, 1024, 4096])
    func separatorsWithoutTheSharedPrefixSplitInnerNodes(_ pageSize: Int) throws {
        let store = try TestStore(pageSize: pageSize)
        let prefix = String(repeating: "p", count: pageSize / 10)
        var keys: [[UInt8]] = []
        try store.write { transaction in
            let tree = try transaction.createIndex(named: "t")
            for i in 0..<1500 {
                let key = Array((prefix + String(100_000 + i)).utf8.prefix(pageSize / 8))
                keys.append(key)
                try transaction.put(key, [UInt8](repeating: 1, count: 20), in: tree)
            }
            for key in keys.prefix(60) { _ = try transaction.delete(key, from: tree) }
            for i in 0..<400 {
                let key = Array("a\(1000 + i)".utf8)
                keys.append(key)
                try transaction.put(key, [UInt8](repeating: 2, count: 20), in: tree)
            }
        }
        #expect(try store.engine.check().problems == [])
        let snapshot = try store.engine.snapshot()
        let index = try snapshot.index(snapshot.tree(named: "t")!)
        for key in Set(keys.dropFirst(60)) { #expect(try index.get(key) != nil) }
    }
}
