import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Redo of trees and rows, replayed after a crash; and records that no transaction of this engine wrote.
@Suite struct ReplayTests {
    static let narrow = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed4)])
    static let wide = ColumnLayout(
        version: 2,
        columns: [Column(id: ColumnID(1), kind: .fixed4), Column(id: ColumnID(2), kind: .bytes, fill: Array("none".utf8))])

    @Test func layoutsDropsAndPatchesComeBackFromTheLog() throws {
        let disk = SimulatedDisk()
        let store = try TestStore(fileSystem: disk)
        let table = try store.write { transaction in
            let table = try transaction.createTable(named: "rows", layout: Self.narrow)
            let row = RowBuffer(layout: Self.narrow)
            row.set(0, UInt32(1))
            for key in 1...5 as ClosedRange<UInt64> { try transaction.put(row, key: key, in: table) }
            _ = try transaction.createIndex(named: "words")
            return table
        }
        try store.write { transaction in
            try transaction.setLayout(Self.wide, of: table)
            try [UInt32(8), 9].withUnsafeBytes {
                try transaction.patch(0, of: [2, 4], values: $0, nulls: [false, true], in: table)
            }
            _ = try transaction.delete(5, from: table)
            try transaction.drop(try #require(transaction.tree(named: "words")))
            _ = try transaction.reserve(100)
        }
        // The disk with the log not replayed: the store was not closed.
        let again = try TestStore(fileSystem: disk.copy())
        let snapshot = try again.engine.snapshot()
        #expect(snapshot.treeNames == ["rows"])
        let rows = try snapshot.table(table)
        let texts = try (1...5).map { key in
            try rows.withRow(key) { row throws(EngineError) in
                row.isNull(0) ? "null \(try row.string(1))" : "\(row.load(0, as: UInt32.self)) \(try row.string(1))"
            }
        }
        #expect(texts == ["1 none", "8 none", "1 none", "null none", nil])
        #expect(try again.write { try $0.reserve(1) } == 101)
        #expect(try again.engine.check().problems == [])
    }

    static let impossible: [(name: String, bytes: [UInt8], message: String)] = [
        ("a code that is none", [99], "The log holds operation 99, which does not exist."),
        ("attach inside a record", [11], "The log holds operation 11, which does not exist."),
        ("a cut operation", [2, 2, 0], "A record ends after 2 bytes where 4 were expected."),
        ("a next object key out of range", [10] + word(1 << 62), "The log sets the next object key to a number that is out of range."),
        ("a blob of another length", [1] + tree(2) + [1, 1, 0, 1, 0, 0, 0, 65, 66], "The log puts an impossible entry into tree t2."),
        ("more keys than bytes", [4] + tree(3) + [9, 1], "A record counts 9 keys in 1 bytes."),
        ("a column that the table lacks", [5] + tree(3) + [7, 0, 0, 0, 4, 1, 1, 0, 0, 0, 0, 0], "The log patches column c7 of tree t3, which has no such column."),
        ("a patch of another width", [5] + tree(3) + [1, 0, 0, 0, 2, 1, 1, 0, 0, 0], "A patch of column c1 of table t3 does not fit its width."),
        ("an unknown tree", [9] + tree(77), "There is no tree t77 in this version of the store."),
        ("the tree of named values", [9] + tree(1), "The tree of named values cannot be dropped."),
        ("a layout that is not newer", [8] + tree(3) + [1, 0, 0, 0, 0, 0], "A new layout of table t3 needs a higher version."),
        ("a name that is taken", [6] + tree(9) + [5, 0] + Array("words".utf8), "There is a tree named words already."),
        ("a number that is taken", [6] + tree(2) + [1, 0, 65], "Tree t2 cannot be created: its number or its name is out of range."),
        ("a row of an index", [4] + tree(2) + [1, 1], "Tree t2 is an index, not a table."),
        ("an entry of a table", [2] + tree(3) + [1, 0, 65], "Tree t3 is a table, not an index."),
        ("a number without end", [4] + tree(3) + [UInt8](repeating: 0xFF, count: 10), "A number of variable length does not end."),
        ("a row with a broken reference", [3] + tree(3) + word(1) + [0, 1, 0, 0, 0, 3, 0, 0, 0x80, 1, 2, 3], "The log puts a broken blob reference into table t3."),
        ("a row too large for a leaf", [3] + tree(3) + word(1) + [0, 1, 0, 0, 0, 0, 8, 0, 0] + [UInt8](repeating: 65, count: 2048), "The log puts an impossible row into table t3."),
    ]

    @Test(arguments: 0..<impossible.count) func anImpossibleRecordIsRefused(_ index: Int) throws {
        let (name, bytes, message) = Self.impossible[index]
        let store = try TestStore()
        try store.write { transaction in
            _ = try transaction.createIndex(named: "words")
            _ = try transaction.createTable(
                named: "rows",
                layout: ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed4), Column(id: ColumnID(2), kind: .bytes)]))
        }
        let transaction = try store.engine.begin()
        let error = #expect(throws: EngineError.self, "\(name)") { try bytes.withBorrowedBytes { try transaction.replay($0) } }
        #expect(error?.message == message)
        transaction.abort()
        #expect(try store.engine.check().problems == [])
    }

    private static func tree(_ id: UInt32) -> [UInt8] { withUnsafeBytes(of: id.littleEndian) { Array($0) } }
    private static func word(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
}
