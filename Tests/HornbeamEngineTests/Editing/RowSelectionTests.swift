import Testing

@testable import CrashHarness
@testable import HornbeamEngine

/// Rows chosen together and changed leaf by leaf, beside a dictionary of rows; a reader that replays the log must come to the same.
@Suite struct RowSelectionTests {
    static let cases = (1...12).map { (512, UInt64($0)) } + [1024, 4096, 16384].map { ($0, UInt64(1)) }

    @Test(arguments: cases)
    func changesAndDeletesChosenRowsAsADictionaryDoes(_ pageSize: Int, _ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let store = try TestStore(pageSize: pageSize)
        let tree = try store.write { try $0.createTable(named: "t", layout: OracleRow.layout) }
        var model: [UInt64: OracleRow] = [:]
        var next: UInt64 = 1
        for round in 0..<16 {
            let before = model
            let transaction = try store.engine.begin()
            try fill(&model, &next, tree, transaction, pageSize, &random)
            for _ in 0..<3 {
                let part = [2, 3, 50, 1].randomElement(using: &random)!
                let keys = model.keys.sorted().filter { _ in Int.random(in: 0..<part, using: &random) == 0 }
                let rows = try transaction.table(tree).selection(of: keys)
                #expect(rows.keys == keys)
                #expect(rows.count == keys.count)
                try change(rows, keys, &model, tree, transaction, pageSize, &random)
            }
            try TableModelTests.expectEqual(try transaction.table(tree), model)
            if round % 4 == 3 {
                transaction.abort()
                model = before
            } else {
                _ = try transaction.commit()
            }
            if round % 5 == 4 { try store.engine.checkpoint() }
            try TableModelTests.expectEqual(try store.engine.snapshot().table(tree), model)
            let report = try store.engine.check()
            #expect(report.problems == [], "after round \(round)")
            try expectHeapsAreCounted(store.engine.snapshot().table(tree))
            try expectReplayed(store, tree, model)
        }
    }

    private func fill(
        _ model: inout [UInt64: OracleRow], _ next: inout UInt64, _ tree: TreeID, _ transaction: WriteTransaction,
        _ pageSize: Int, _ random: inout SplitMix
    ) throws {
        let buffer = RowBuffer(layout: OracleRow.layout)
        for _ in 0..<150 {
            next += Int.random(in: 0..<12, using: &random) == 0 ? UInt64.random(in: 1...90_000, using: &random) : 1
            let row = OracleRow.random(pageSize: pageSize, &random)
            row.fill(buffer)
            try transaction.put(buffer, key: next, in: tree)
            model[next] = row
        }
    }

    private func change(
        _ rows: RowSelection, _ keys: [UInt64], _ model: inout [UInt64: OracleRow], _ tree: TreeID,
        _ transaction: WriteTransaction, _ pageSize: Int, _ random: inout SplitMix
    ) throws {
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            let step = Int64.random(in: .min ... .max, using: &random)
            try transaction.alter(rows, by: [.add(column: 0, step: step), .add(column: 2, step: 3)], in: tree)
            for key in keys {
                model[key]?.long? &+= step
                model[key]?.small? &+= 3
            }
        case 1:
            try transaction.alter(rows, by: [.set(column: 1, cell: [1]), .set(column: 0, cell: nil)], in: tree)
            for key in keys {
                model[key]?.flag = true
                model[key]?.long = nil
            }
        case 2:
            try transaction.alter(rows, by: [.set(column: 2, cell: [5, 1])], in: tree)
            for key in keys { model[key]?.small = 0x105 }
        case 3, 4: try setTexts(rows, keys, &model, tree, transaction, pageSize, &random)
        default:
            try transaction.delete(rows, from: tree)
            for key in keys { model[key] = nil }
        }
    }

    private func setTexts(
        _ rows: RowSelection, _ keys: [UInt64], _ model: inout [UInt64: OracleRow], _ tree: TreeID,
        _ transaction: WriteTransaction, _ pageSize: Int, _ random: inout SplitMix
    ) throws {
        // Beside a text of any length, the rows have at most three bytes, or nothing if both columns are set.
        let room = ResolvedLayout(OracleRow.layout).variableBytesMax(pageSize: pageSize) - 3
        let lengths = [0, 3, room / 8, room].filter { $0 <= room }
        let length = Int.random(in: 0..<5, using: &random) == 0 ? nil : lengths.randomElement(using: &random)
        let text = length.map { [UInt8](repeating: .random(in: 0...9, using: &random), count: $0) }
        let wide: [UInt8]? = Bool.random(using: &random) ? [7, 7] : nil
        var changes = [ColumnChange.add(column: 0, step: 1), .set(column: 3, cell: text)]
        let setsBoth = Bool.random(using: &random)
        if setsBoth { changes.append(.set(column: 4, cell: wide)) }
        try transaction.alter(rows, by: changes, in: tree)
        for key in keys {
            model[key]?.long? &+= 1
            model[key]?.text = text
            if setsBoth { model[key]?.wide = wide }
        }
    }

    @Test func textsThatAreTooLongForALeafAreRefused() throws {
        let store = try TestStore(pageSize: 512)
        let tree = try store.write { try $0.createTable(named: "t", layout: OracleRow.layout) }
        let buffer = RowBuffer(layout: OracleRow.layout)
        buffer.setString(3, "short")
        try store.write { transaction in for key in 1...9 as ClosedRange<UInt64> { try transaction.put(buffer, key: key, in: tree) } }
        let room = ResolvedLayout(OracleRow.layout).variableBytesMax(pageSize: 512)
        try store.engine.snapshot().table(tree).forEachLeaf { leaf throws(EngineError) in
            #expect(leaf.variableBytesMax(besides: []) == 5 && leaf.variableBytesMax(besides: [3]) == 0)
            return true
        }
        for (changes, fits) in [
            ([ColumnChange.set(column: 4, cell: [UInt8](repeating: 1, count: room - 5))], true),
            ([.set(column: 4, cell: [UInt8](repeating: 1, count: room - 4))], false),
            ([.set(column: 3, cell: nil), .set(column: 4, cell: [UInt8](repeating: 1, count: room))], true),
            ([.set(column: 3, cell: [1]), .set(column: 3, cell: [2])], false), ([.add(column: 3, step: 1)], false),
        ] {
            let transaction = try store.engine.begin()
            defer { transaction.abort() }
            let rows = try transaction.table(tree).selection(of: [2, 3])
            if fits {
                try transaction.alter(rows, by: changes, in: tree)
            } else {
                #expect { try transaction.alter(rows, by: changes, in: tree) } throws: { ($0 as? EngineError)?.code == .tooLarge }
            }
        }
    }

    @Test func recordsOfImpossibleChangesAreDamage() throws {
        let store = try TestStore(pageSize: 512)
        let tree = try store.write { try $0.createTable(named: "t", layout: OracleRow.layout) }
        let buffer = RowBuffer(layout: OracleRow.layout)
        try store.write { transaction in for key in 1...9 as ClosedRange<UInt64> { try transaction.put(buffer, key: key, in: tree) } }
        for changes in [
            [ColumnChange.set(column: 0, cell: [])], [.set(column: 0, cell: [1, 2])], [.set(column: 3, cell: [UInt8](repeating: 1, count: 300))],
            [.set(column: 3, cell: [1]), .set(column: 3, cell: nil)], [.add(column: 3, step: 1)], [.add(column: 1, step: 1)],
        ] {
            let transaction = try store.engine.begin()
            defer { transaction.abort() }
            var redo = Redo()
            redo.alter(tree, try transaction.table(tree).selection(of: [2, 3]), changes, OracleRow.layout.columns)
            #expect { try redo.bytes.withBorrowedBytes { bytes throws(EngineError) in try transaction.replay(bytes) } } throws: {
                ($0 as? EngineError)?.code == .damaged
            }
        }
    }

    /// The bytes of a leaf's heap are those of its cells and the dead ones.
    private func expectHeapsAreCounted(_ table: TableView) throws {
        try table.forEachLeaf { leaf throws(EngineError) in
            let leaf = TableLeaf(page: leaf.page, layout: ResolvedLayout(OracleRow.layout))
            #expect(leaf.page.limit - leaf.page.heapStart == leaf.heapBytes(0..<leaf.count) + leaf.page.heapGarbage)
            return true
        }
    }

    private func expectReplayed(_ store: TestStore, _ tree: TreeID, _ model: [UInt64: OracleRow]) throws {
        var options = store.options
        options.isReadOnly = true
        let reader = try Engine.open("test.hornbeam", fileSystem: store.fileSystem, options: options)
        try TableModelTests.expectEqual(try reader.snapshot().table(tree), model)
        #expect(try reader.check().problems == [])
    }

    @Test(arguments: [nil, "", "some", String(repeating: "x", count: 70)])
    func rowsOfAnOlderLayoutAreConverted(_ longText: String?) throws {
        let store = try TestStore(pageSize: 512)
        let old = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bytes)])
        let added = [Column(id: ColumnID(3), kind: .fixed4, fill: [7, 0, 0, 0]), Column(id: ColumnID(4), kind: .bytes, fill: Array("fill".utf8))]
        let new = ColumnLayout(version: 2, columns: old.columns + added)
        let tree = try store.write { transaction in
            let tree = try transaction.createTable(named: "t", layout: old)
            let row = RowBuffer(layout: old)
            for key in 1...300 as ClosedRange<UInt64> {
                row.reset()
                row.set(0, key)
                row.setString(1, "row \(key)")
                try transaction.put(row, key: key, in: tree)
            }
            return tree
        }
        let odd = (1...300 as ClosedRange<UInt64>).filter { $0 % 2 == 1 }
        try store.write { transaction in
            try transaction.setLayout(new, of: tree)
            let rows = try transaction.table(tree).selection(of: odd)
            let text = longText.map { ColumnChange.set(column: 3, cell: Array($0.utf8)) }
            try transaction.alter(rows, by: [.add(column: 2, step: 1), .add(column: 0, step: -1)] + (text.map { [$0] } ?? []), in: tree)
            try transaction.delete(transaction.table(tree).selection(of: [3, 4, 5]), from: tree)
        }
        try store.reopen()
        let table = try store.engine.snapshot().table(tree)
        #expect(table.count == 297)
        try table.forEachLeaf { leaf throws(EngineError) in
            for slot in 0..<leaf.count {
                let row = leaf.row(slot)
                let isOdd = row.key % 2 == 1
                #expect(row.load(0, as: UInt64.self) == row.key - (isOdd ? 1 : 0))
                #expect(row.load(2, as: UInt32.self) == (isOdd ? 8 : 7))
                #expect(try row.string(1) == "row \(row.key)")
                #expect(try row.string(3) == (isOdd ? longText ?? "fill" : "fill"))
            }
            return true
        }
        #expect(try store.engine.check().problems == [])
    }

    /// Sparse leaves are merged only if cells have become shorter. So a selection stays valid while another one of the same version is changed.
    @Test func changesOfFixedColumnsKeepOtherSelections() throws {
        let store = try TestStore(pageSize: 512)
        let tree = try store.write { try $0.createTable(named: "t", layout: OracleRow.layout) }
        let buffer = RowBuffer(layout: OracleRow.layout)
        for text in [String(repeating: "x", count: 90), ""] {
            buffer.set(0, UInt64(1))
            buffer.setString(3, text)
            try store.write { transaction in for key in 1...200 as ClosedRange<UInt64> { try transaction.put(buffer, key: key, in: tree) } }
        }
        try store.write { transaction in
            let rows = try transaction.table(tree).selection(of: Array(1...200))
            #expect(rows.leafCount > 20)
            try transaction.alter(rows, by: [.add(column: 0, step: 1)], in: tree)
            try transaction.alter(rows, by: [.add(column: 0, step: 1), .set(column: 3, cell: nil)], in: tree)
            #expect(try transaction.table(tree).selection(of: Array(1...200)).leafCount < rows.leafCount)
        }
        #expect(try store.engine.check().problems == [])
    }

    @Test func rowsChosenBeforeAnotherChangeAreRefused() throws {
        let store = try TestStore(pageSize: 512)
        let tree = try store.write { try $0.createTable(named: "t", layout: OracleRow.layout) }
        let buffer = RowBuffer(layout: OracleRow.layout)
        try store.write { transaction in for key in 1...9 as ClosedRange<UInt64> { try transaction.put(buffer, key: key, in: tree) } }
        let transaction = try store.engine.begin()
        let rows = try transaction.table(tree).selection(of: [2, 3])
        _ = try transaction.delete(9, from: tree)
        #expect(throws: EngineError.self) { try transaction.delete(rows, from: tree) }
        transaction.abort()
        #expect(try store.engine.snapshot().table(tree).count == 9)
    }

    /// The first case has so many leaves that replaced pages are removed from the pool; a reader of the previous state still reads them.
    @Test(arguments: [(512, 2, 13_000), (512, 50, 2500), (512, 1, 2500), (4096, 3, 2500), (16384, 2, 2500)])
    func entriesOfRowsGoWhereverTheyStand(_ pageSize: Int, _ part: Int, _ count: UInt64) throws {
        var random = SplitMix(seed: UInt64(pageSize + part))
        let store = try TestStore(pageSize: pageSize)
        let (byValue, byKey) = try store.write {
            (try $0.createIndex(named: "value"), try $0.createIndex(named: "key"))
        }
        let keys = (1...count).filter { $0 % 7 != 0 }
        try store.write { transaction in
            for key in keys {
                let text = Array(String(UInt64.random(in: 0 ... .max, using: &random), radix: 36).utf8)
                try transaction.put(text, withUnsafeBytes(of: key) { Array($0) }, in: byValue)
                try transaction.put(text + withUnsafeBytes(of: key.bigEndian) { Array($0) }, [], in: byKey)
            }
        }
        let gone = keys.filter { _ in Int.random(in: 0..<part, using: &random) == 0 }
        try store.reopen()
        let before = try store.engine.snapshot()
        try store.write { transaction in
            try transaction.deleteEntries(of: gone, at: .startOfValue, from: byValue)
            try transaction.deleteEntries(of: gone, at: .endOfKey, from: byKey)
        }
        let left = Set(keys).subtracting(gone)
        func expect(_ snapshot: Snapshot, _ left: Set<UInt64>) throws {
            for (tree, isValue) in [(byValue, true), (byKey, false)] {
                var found: Set<UInt64> = []
                try snapshot.index(tree).forEach(in: KeyRange()) { (key, value) throws(EngineError) -> Bool in
                    let bytes = isValue ? Array(value) : key.suffix(8).reversed()
                    found.insert(bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) })
                    return true
                }
                #expect(found == left)
                #expect(try snapshot.index(tree).count == left.count)
            }
        }
        try expect(try store.engine.snapshot(), left)
        try expect(before, Set(keys))
        #expect(try store.engine.check().problems == [])
        var options = store.options
        options.isReadOnly = true
        try expect(try Engine.open("test.hornbeam", fileSystem: store.fileSystem, options: options).snapshot(), left)
        withExtendedLifetime(before) {}
        try store.reopen()
        try expect(try store.engine.snapshot(), left)
    }
}
