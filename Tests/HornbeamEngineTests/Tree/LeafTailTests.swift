import Testing

@testable import HornbeamEngine

/// Ends of cells, tested many at a time, beside `suffix`.
@Suite struct LeafTailTests {
    private static let layout = ColumnLayout(columns: [
        Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bytes),
    ])
    private static let later = ColumnLayout(
        version: 2,
        columns: [
            Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bytes),
            Column(id: ColumnID(3), kind: .bytes, fill: Array("7".utf8)),
        ])

    /// Null, empty, short and long cells, some of which end alike.
    private static func cell(_ key: UInt64, withLong: Bool) -> [UInt8]? {
        switch key % 7 {
        case 0: nil
        case 1: []
        case 2 where withLong: Array(repeating: UInt8(ascii: "7"), count: 5000)
        default: Array("\(key * 7919)77".utf8.suffix(Int(key % 24)))
        }
    }

    @Test("selects the rows whose cell ends with one to eight given bytes", arguments: [512, 16384], [false, true])
    func endsAreFound(pageSize: Int, withLong: Bool) throws {
        let store = try TestStore(pageSize: pageSize)
        let tree = try store.write { transaction in
            let tree = try transaction.createTable(named: "t", layout: Self.layout)
            let row = RowBuffer(layout: Self.layout)
            for key in 1...700 as ClosedRange<UInt64> {
                row.reset()
                row.set(0, key)
                if let cell = Self.cell(key, withLong: withLong) { cell.withUnsafeBytes { row.setBytes(1, $0) } }
                try transaction.put(row, key: key, in: tree)
            }
            return tree
        }
        for text in ["7", "77", "377", "5377", "15377", "915377", "7915377", "27915377", "x"] {
            try expect(Array(text.utf8), in: store.engine.snapshot().table(tree), withLong)
        }
        #expect(CellTail([]) == nil)
        #expect(CellTail(Array("123456789".utf8)) == nil)
    }

    private func expect(_ end: [UInt8], in table: TableView, _ withLong: Bool) throws {
        let tail = try #require(CellTail(end))
        try table.forEachLeaf { leaf throws(EngineError) in
            var words = [UInt64](repeating: 0, count: (leaf.count + 63) / 64)
            // Every third row is out already.
            for slot in 0..<leaf.count where leaf.key(slot) % 3 != 0 { words[slot / 64] |= 1 << UInt64(slot % 64) }
            guard leaf.filterRows(&words, endingWith: tail, in: 1) else {
                #expect(withLong, "a leaf without long cells needs no closer look")
                return true
            }
            for slot in 0..<leaf.count {
                let key = leaf.key(slot)
                let isKept = words[slot / 64] >> UInt64(slot % 64) & 1 == 1
                let expected = key % 3 != 0 && Self.cell(key, withLong: withLong)?.suffix(end.count) == end[...]
                #expect(isKept == expected, "key \(key), \(end)")
            }
            return true
        }
    }

    @Test("a leaf without the column refuses the search by cell endings")
    func missingColumn() throws {
        let store = try TestStore(pageSize: 1024)
        let tree = try store.write { transaction in
            let tree = try transaction.createTable(named: "t", layout: Self.layout)
            let row = RowBuffer(layout: Self.layout)
            row.set(0, UInt64(1))
            try transaction.put(row, key: 1, in: tree)
            return tree
        }
        try store.write { try $0.setLayout(Self.later, of: tree) }
        let tail = try #require(CellTail(Array("7".utf8)))
        try store.engine.snapshot().table(tree).forEachLeaf { leaf throws(EngineError) in
            var words: [UInt64] = [1]
            #expect(!leaf.filterRows(&words, endingWith: tail, in: 2))
            #expect(words == [1])
            return true
        }
    }
}
