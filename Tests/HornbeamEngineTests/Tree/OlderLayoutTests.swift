import Testing

@testable import HornbeamEngine

/// Rows written under an older layout, read under a newer one: each kind of column, with and without a fill value.
@Suite struct OlderLayoutTests {
    static let old = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed1)])
    static let new = ColumnLayout(
        version: 2,
        columns: [
            Column(id: ColumnID(1), kind: .fixed1), Column(id: ColumnID(2), kind: .bit, fill: [1]),
            Column(id: ColumnID(3), kind: .fixed2, fill: [1, 2]), Column(id: ColumnID(4), kind: .fixed8, fill: [1, 0, 0, 0, 0, 0, 0, 9]),
            Column(id: ColumnID(5), kind: .bytes, fill: Array("fill".utf8)), Column(id: ColumnID(6), kind: .bit),
            Column(id: ColumnID(7), kind: .fixed4), Column(id: ColumnID(8), kind: .bytes),
        ])

    @Test func missingColumnsOfALeafReadAsFillValues() throws {
        let store = try TestStore()
        let tree = try store.write { transaction in
            let tree = try transaction.createTable(named: "t", layout: Self.old)
            let row = RowBuffer(layout: Self.old)
            for key in 1...3 as ClosedRange<UInt64> {
                row.set(0, UInt8(key))
                try transaction.put(row, key: key, in: tree)
            }
            return tree
        }
        try store.write { try $0.setLayout(Self.new, of: tree) }
        try readFills(of: store.engine.snapshot().table(tree))
        try store.reopen()
        try readFills(of: store.engine.snapshot().table(tree))
    }

    private func readFills(of table: TableView) throws {
        var seen = 0
        try table.forEachLeaf { leaf throws(EngineError) in
            #expect((1...7).allSatisfy { leaf.fixedCells($0) == nil && leaf.nullBits($0) == nil && leaf.bitCells($0) == nil })
            #expect(leaf.bytesInLeaf(4, 0) == nil && leaf.bytesInLeaf(7, 0) == nil)
            for slot in 0..<leaf.count {
                let row = leaf.row(slot)
                #expect((0...7).map(row.isNull) == [false, false, false, false, false, true, true, true])
                #expect(row.load(0, as: UInt8.self) == UInt8(row.key))
                #expect(row.bit(1) && !row.bit(5))
                #expect(row.load(2, as: UInt16.self) == 0x0201)
                #expect(row.load(3, as: UInt64.self) == 0x0900_0000_0000_0001)
                #expect(row.load(6, as: UInt32.self) == 0)
                #expect(try row.string(4) == "fill")
                #expect(try row.bytes(7) == [])
                seen += 1
            }
            return true
        }
        #expect(seen == 3)
    }
}
