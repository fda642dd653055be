import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Changes of all rows of a tree that is several times as large as the pool.
@Suite struct LargeSelectionTests {
    private static let layout = ColumnLayout(columns: [
        Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bytes), Column(id: ColumnID(3), kind: .bytes),
    ])
    private static let count: UInt64 = 12_000

    enum Change: CaseIterable { case number, shortText, longText, delete }

    /// - Parameter frames: The largest number of frames. All changed leaves together need more.
    private func makeStore(frames: Int = 400) throws -> (store: TestStore, table: TreeID, index: TreeID) {
        let store = try TestStore(pageSize: 1024) { options in
            options.poolBytes = 128 << 10
            options.frameCeiling = frames
            options.attachThreshold = 20_000
            options.pageFileBytes = 64 << 10
        }
        let table = try store.write { try $0.createTable(named: "table", layout: Self.layout) }
        let index = try store.write { try $0.createIndex(named: "index") }
        for start in stride(from: 1, to: Self.count, by: 1000) {
            try store.write { transaction in
                let row = RowBuffer(layout: Self.layout)
                for key in start..<start + 1000 {
                    row.reset()
                    row.set(0, key)
                    row.setString(1, "a text of the row \(key)")
                    try transaction.put(row, key: key, in: table)
                    let suffix = unsafe withUnsafeBytes(of: key.bigEndian) { unsafe Array($0) }
                    try transaction.put(Array("entry \(key &* 0x9E37_79B9)".utf8) + suffix, Array("value".utf8), in: index)
                }
            }
            try store.engine.checkpoint()
        }
        return (store, table, index)
    }

    private func apply(_ change: Change, _ rows: RowSelection, _ table: TreeID, _ transaction: WriteTransaction) throws {
        switch change {
        case .number: try transaction.alter(rows, by: [.add(column: 0, step: 1)], in: table)
        case .shortText: try transaction.alter(rows, by: [.set(column: 2, cell: Array("none".utf8))], in: table)
        case .longText: try transaction.alter(rows, by: [.set(column: 1, cell: [UInt8](repeating: 65, count: 150))], in: table)
        case .delete: try transaction.delete(rows, from: table)
        }
    }

    private func expect(_ change: Change, every part: UInt64, _ store: TestStore, _ table: TreeID) throws {
        var found: UInt64 = 0
        try store.engine.snapshot().table(table).forEachLeaf { leaf throws(EngineError) in
            for slot in 0..<leaf.count {
                let row = leaf.row(slot)
                let isChanged = row.key % part == 0
                found += 1
                #expect(row.load(0, as: UInt64.self) == row.key + (isChanged && change == .number ? 1 : 0))
                #expect(try row.string(1) == (isChanged && change == .longText ? String(repeating: "A", count: 150) : "a text of the row \(row.key)"))
                #expect(try row.isNull(2) ? !(isChanged && change == .shortText) : row.string(2) == "none")
                #expect(!(isChanged && change == .delete))
            }
            return true
        }
        #expect(found == (change == .delete ? Self.count - Self.count / part : Self.count))
        #expect(try store.engine.check().problems == [])
    }

    @Test(arguments: Change.allCases, [2, 3] as [UInt64])
    func changesNeedNoMoreMemoryThanThePool(_ change: Change, every part: UInt64) throws {
        let (store, table, _) = try makeStore()
        let keys = (1...Self.count).filter { $0 % part == 0 }
        try store.write { transaction in try apply(change, transaction.table(table).selection(of: keys), table, transaction) }
        try expect(change, every: part, store, table)
        try store.reopen()
        try expect(change, every: part, store, table)
    }

    @Test(arguments: Change.allCases) func abortedChangesLeaveNothing(_ change: Change) throws {
        let (store, table, _) = try makeStore()
        let before = try store.engine.statistics().liveBytes
        let keys = (1...Self.count).filter { $0 % 2 == 0 }
        let transaction = try store.engine.begin()
        try apply(change, transaction.table(table).selection(of: keys), table, transaction)
        transaction.abort()
        #expect(try store.engine.statistics().liveBytes == before)
        var sum: UInt64 = 0
        try store.engine.snapshot().table(table).forEachLeaf { leaf throws(EngineError) in
            for slot in 0..<leaf.count { sum += leaf.row(slot).load(0, as: UInt64.self) }
            return true
        }
        #expect(sum == Self.count * (Self.count + 1) / 2)
        #expect(try store.engine.check().problems == [])
    }

    @Test(arguments: [2, 7, 1] as [UInt64]) func deletingEntriesNeedsNoMoreMemoryThanThePool(every part: UInt64) throws {
        let (store, _, index) = try makeStore()
        let keys = (1...Self.count).filter { $0 % part == 0 }
        try store.write { try $0.deleteEntries(of: keys, at: .endOfKey, from: index) }
        for _ in 0..<2 {
            let view = try store.engine.snapshot().index(index)
            #expect(view.count == Int(Self.count) - keys.count)
            try view.forEach(in: KeyRange()) { key, _ throws(EngineError) in
                let bytes = unsafe Array(key)
                let number = bytes.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                #expect(number % part != 0)
                return true
            }
            #expect(try store.engine.check().problems == [])
            try store.reopen()
        }
    }

    /// Each leaf becomes many leaves.
    @Test(arguments: [1, 2] as [UInt64]) func longTextsInTinyRowsNeedNoMoreMemoryThanThePool(every part: UInt64) throws {
        // The inner nodes above 3,000 leaves stay in memory.
        let (store, _, _) = try makeStore(frames: 1000)
        let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .bytes)])
        let table = try store.write { try $0.createTable(named: "tiny", layout: layout) }
        let row = RowBuffer(layout: layout)
        try store.write { transaction in for key in 1...Self.count { try transaction.put(row, key: key, in: table) } }
        let text = [UInt8](repeating: 66, count: ResolvedLayout(layout).variableBytesMax(pageSize: 1024))
        let keys = (1...Self.count).filter { $0 % part == 0 }
        try store.write { transaction in
            try transaction.alter(transaction.table(table).selection(of: keys), by: [.set(column: 0, cell: text)], in: table)
        }
        for _ in 0..<2 {
            var found = 0
            try store.engine.snapshot().table(table).forEachLeaf { leaf throws(EngineError) in
                for slot in 0..<leaf.count where !leaf.row(slot).isNull(0) {
                    #expect(try leaf.row(slot).bytes(0) == text)
                    found += 1
                }
                return true
            }
            #expect(found == keys.count)
            #expect(try store.engine.check().problems == [])
            try store.reopen()
        }
    }
}
