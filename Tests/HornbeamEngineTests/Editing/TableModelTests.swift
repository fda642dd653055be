import Testing

@testable import CrashHarness
@testable import HornbeamEngine

/// A table and a dictionary of rows have equal content after the same random operations.
@Suite struct TableModelTests {
    typealias Row = OracleRow

    static let layout = OracleRow.layout

    /// Small pages split and merge most, so they get most seeds.
    static let cases = (1...20).map { (512, UInt64($0)) } + [1024, 4096, 16384].flatMap { [($0, 1), ($0, 2)] }

    @Test(arguments: cases)
    func answersAsADictionaryDoes(_ pageSize: Int, _ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let store = try TestStore(pageSize: pageSize)
        var model: [UInt64: Row] = [:]
        let tree = try store.write { try $0.createTable(named: "t", layout: Self.layout) }
        let buffer = RowBuffer(layout: Self.layout)
        var next: UInt64 = 1
        for round in 0..<14 {
            let before = model
            let transaction = try store.engine.begin()
            for _ in 0..<120 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    next += Int.random(in: 0..<10, using: &random) == 0 ? UInt64.random(in: 1...70_000, using: &random) : 1
                    let row = Row.random(pageSize: pageSize, &random)
                    row.fill(buffer)
                    try transaction.put(buffer, key: next, in: tree)
                    model[next] = row
                case 5:
                    let key = UInt64.random(in: 0...next, using: &random)
                    let row = Row.random(pageSize: pageSize, &random)
                    row.fill(buffer)
                    try transaction.put(buffer, key: key, in: tree)
                    model[key] = row
                case 6:
                    guard let key = model.keys.sorted().randomElement(using: &random) else { continue }
                    #expect(try transaction.delete(key, from: tree))
                    model[key] = nil
                case 7 where round % 3 == 1:
                    let keys = model.keys.sorted().filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
                    #expect(try transaction.delete(keys, from: tree) == keys.count)
                    for key in keys { model[key] = nil }
                default:
                    let keys = (0..<5).map { _ in UInt64.random(in: 0...next, using: &random) }.sorted()
                    let values = keys.map { Int64($0) * 3 }
                    try values.withUnsafeBytes { try transaction.patch(0, of: keys, values: $0, in: tree) }
                    for (key, value) in zip(keys, values) { model[key]?.long = value }
                }
            }
            try Self.expectEqual(try transaction.table(tree), model)
            if round % 4 == 3 {
                transaction.abort()
                model = before
            } else {
                _ = try transaction.commit()
            }
            if round % 5 == 4 { try store.engine.checkpoint() }
            if round == 8 { try store.reopen() }
            try Self.expectEqual(try store.engine.snapshot().table(tree), model)
            let report = try store.engine.check()
            #expect(report.problems == [], "after round \(round)")
        }
        let deleted = try store.write { try $0.delete(model.keys.sorted(), from: tree) }
        #expect(deleted == model.count)
        #expect(try store.engine.snapshot().table(tree).count == 0)
    }

    @Test func layoutsChangeWithoutTouchingRows() throws {
        let store = try TestStore(pageSize: 1024)
        let old = ColumnLayout(columns: [
            Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bytes),
        ])
        let new = ColumnLayout(
            version: 2,
            columns: [
                Column(id: ColumnID(2), kind: .bytes), Column(id: ColumnID(3), kind: .fixed4, fill: [7, 0, 0, 0]),
                Column(id: ColumnID(4), kind: .bytes, fill: Array("none".utf8)), Column(id: ColumnID(5), kind: .bit),
            ])
        let tree = try store.write { transaction in
            let tree = try transaction.createTable(named: "t", layout: old)
            let row = RowBuffer(layout: old)
            for key in 1...200 as ClosedRange<UInt64> {
                row.reset()
                row.set(0, key)
                row.setString(1, "row \(key)")
                try transaction.put(row, key: key, in: tree)
            }
            return tree
        }
        try store.write { try $0.setLayout(new, of: tree) }
        func expectRow(_ key: UInt64, _ fixed: UInt32, _ text: String) throws {
            let found = try store.engine.snapshot().table(tree).withRow(key) { row throws(EngineError) in
                (try row.string(0), row.load(1, as: UInt32.self), try row.string(2), row.isNull(3))
            }
            #expect(found ?? ("", 0, "", false) == ("row \(key)", fixed, text, true))
        }
        for key in 1...200 as ClosedRange<UInt64> { try expectRow(key, 7, "none") }
        try store.write { transaction in
            let row = RowBuffer(layout: new)
            row.setString(0, "row 100")
            row.set(1, UInt32(9))
            row.setString(2, "some")
            try transaction.put(row, key: 100, in: tree)
            try [UInt32(5)].withUnsafeBytes { try transaction.patch(1, of: [50], values: $0, in: tree) }
        }
        try store.engine.checkpoint()
        try store.reopen()
        try expectRow(100, 9, "some")
        try expectRow(50, 5, "none")
        for key in [1, 49, 51, 99, 101, 200] as [UInt64] { try expectRow(key, 7, "none") }
        #expect(try store.engine.check().problems == [])
    }

    static func expectEqual(_ table: TableView, _ model: [UInt64: Row]) throws {
        #expect(table.count == model.count)
        var keys: [UInt64] = []
        try table.forEachLeaf { leaf throws(EngineError) in
            for slot in 0..<leaf.count {
                keys.append(leaf.key(slot))
                let row = try Row(leaf.row(slot))
                #expect(row == model[leaf.key(slot)], "key \(leaf.key(slot))")
            }
            return true
        }
        #expect(keys == model.keys.sorted())
        var backwards: [UInt64] = []
        try table.forEachLeaf(reversed: true) { leaf throws(EngineError) in
            backwards += (0..<leaf.count).map(leaf.key).reversed()
            return true
        }
        #expect(backwards == keys.reversed())
        for (n, key) in keys.enumerated() where n % 37 == 0 {
            #expect(try table.key(at: n) == key)
            #expect(try table.rank(of: key) == n)
            var location = RowLocation()
            for _ in 0..<2 {
                let row = try table.withRow(key, at: &location) { row throws(EngineError) in try Row(row) }
                #expect(row == model[key])
            }
        }
        var batched: [UInt64] = []
        try table.forEachRow(keys.filter { $0 % 3 != 0 } + [.max]) { _, row, _ throws(EngineError) in
            batched.append(row.key)
            return true
        }
        #expect(batched == keys.filter { $0 % 3 != 0 })
    }
}
