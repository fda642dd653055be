import Testing

@testable import HornbeamEngine

/// Scans of a table that is larger than the pool: the columns that they name have the cells of whole leaves, and the pool keeps its pages.
@Suite struct PartialLeafTests {
    private static let layout = ColumnLayout(columns: [
        Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bytes), Column(id: ColumnID(3), kind: .fixed4),
        Column(id: ColumnID(4), kind: .bit), Column(id: ColumnID(5), kind: .fixed2), Column(id: ColumnID(6), kind: .fixed1),
        Column(id: ColumnID(7), kind: .fixed16), Column(id: ColumnID(8), kind: .fixed8),
    ])
    private static let later = ColumnLayout(
        version: 2, columns: layout.columns + [Column(id: ColumnID(9), kind: .fixed8, fill: [7, 0, 0, 0, 0, 0, 0, 0])])
    private static let rows: UInt64 = 3000

    private static func isNull(_ key: UInt64, _ column: Int) -> Bool { (key &* 31 &+ UInt64(column) &* 7) % 5 == 0 }

    /// Rows whose keys are multiples of `step`. All their pages are on disk, and the pool has 32 KiB.
    private static func filled(step: UInt64, poolBytes: Int = 32 << 10) throws -> (store: TestStore, tree: TreeID) {
        let store = try TestStore { $0.poolBytes = poolBytes }
        let tree = try store.write { transaction in
            let tree = try transaction.createTable(named: "t", layout: layout)
            try put(1...rows, step, layout, tree, transaction)
            return tree
        }
        try store.reopen()
        return (store, tree)
    }

    private static func put(
        _ numbers: ClosedRange<UInt64>, _ step: UInt64, _ layout: ColumnLayout, _ tree: TreeID, _ transaction: WriteTransaction
    ) throws {
        let row = RowBuffer(layout: layout)
        for number in numbers {
            let key = number * step
            row.reset()
            if !isNull(key, 0) { row.set(0, Double(key * 37 % 10_000) / 100) }
            if !isNull(key, 1) { row.setString(1, "text \(key)") }
            if !isNull(key, 2) { row.set(2, UInt32(key * 77)) }
            if !isNull(key, 3) { row.setBit(3, key % 3 == 0) }
            if !isNull(key, 4) { row.set(4, UInt16(truncatingIfNeeded: key * 7)) }
            if !isNull(key, 5) { row.set(5, UInt8(truncatingIfNeeded: key)) }
            if !isNull(key, 6) { row.set(6, SIMD2<UInt64>(key, 9)) }
            if !isNull(key, 7) { row.set(7, key &* 0x9E37_79B9_7F4A_7C15) }
            if layout.columns.count > 8 { row.set(8, key + 1) }
            try transaction.put(row, key: key, in: tree)
        }
    }

    /// True if the cells that a scan may read are those of the row.
    private static func agrees(_ row: RowView, _ key: UInt64, _ columns: UInt64) -> Bool {
        guard row.key == key else { return false }
        for column in 0..<8 {
            let isNull = isNull(key, column)
            guard row.isNull(column) == isNull else { return false }
            if isNull || column != 3 && columns >> UInt64(column) & 1 == 0 { continue }
            let isEqual = switch column {
            case 0: row.load(0, as: Double.self) == Double(key * 37 % 10_000) / 100
            case 2: row.load(2, as: UInt32.self) == UInt32(key * 77)
            case 3: row.bit(3) == (key % 3 == 0)
            case 4: row.load(4, as: UInt16.self) == UInt16(truncatingIfNeeded: key * 7)
            case 5: row.load(5, as: UInt8.self) == UInt8(truncatingIfNeeded: key)
            case 6: row.load(6, as: SIMD2<UInt64>.self) == SIMD2<UInt64>(key, 9)
            case 7: row.load(7, as: UInt64.self) == key &* 0x9E37_79B9_7F4A_7C15
            default: true
            }
            guard isEqual else { return false }
        }
        return true
    }

    @Test(arguments: [1, 3] as [UInt64], [0, 1, 0b100, 0b1000, 0b10000, 0b100000, 0b1000000, 0b10000000, 0b10100101, 0b11111111] as [UInt64])
    func columnsAreThoseOfWholeLeaves(step: UInt64, columns: UInt64) throws {
        let (store, tree) = try Self.filled(step: step)
        let table = try store.engine.snapshot().table(tree)
        for reversed in [false, true] {
            var seen: UInt64 = 0
            var partial = 0
            var wrong: [UInt64] = []
            try table.forEachLeaf(reversed: reversed, readsOnly: columns) { leaf throws(EngineError) in
                if leaf.location(0) == RowLocation() { partial += 1 }
                for place in 0..<leaf.count {
                    seen += 1
                    let key = (reversed ? Self.rows + 1 - seen : seen) * step
                    if !Self.agrees(leaf.row(reversed ? leaf.count - 1 - place : place), key, columns) { wrong.append(key) }
                }
                return true
            }
            #expect(seen == Self.rows)
            #expect(partial > 40)
            #expect(wrong == [])
        }
        // Inner nodes only: a leaf has some twenty rows.
        #expect(table.root.pool.usage.cached < 24)
    }

    @Test func leavesInThePoolAreReadThere() throws {
        let (store, tree) = try Self.filled(step: 1)
        let table = try store.engine.snapshot().table(tree)
        var location = RowLocation()
        try table.locate(700, &location)
        var found: [RowLocation] = []
        try table.forEachLeaf(readsOnly: 1) { leaf throws(EngineError) in
            for slot in 0..<leaf.count where leaf.location(slot) != RowLocation() && leaf.key(slot) == 700 { found.append(leaf.location(slot)) }
            return true
        }
        #expect(found == [location])
        #expect(location != RowLocation())
    }

    @Test func aTableThatFitsIsReadThroughThePool() throws {
        let (store, tree) = try Self.filled(step: 1, poolBytes: 1 << 20)
        try store.engine.snapshot().table(tree).forEachLeaf(readsOnly: 1) { leaf throws(EngineError) in
            #expect(leaf.location(0) != RowLocation())
            return true
        }
    }

    @Test func leavesOfAnOlderLayoutAreReadWhole() throws {
        let (store, tree) = try Self.filled(step: 1)
        try store.write { transaction in
            try transaction.setLayout(Self.later, of: tree)
            try Self.put(Self.rows + 1...2 * Self.rows, 1, Self.later, tree, transaction)
        }
        try store.reopen()
        let table = try store.engine.snapshot().table(tree)
        var seen: UInt64 = 0
        var partial = 0
        var whole = 0
        var wrong: [UInt64] = []
        try table.forEachLeaf(readsOnly: 0b1_0000_0001) { leaf throws(EngineError) in
            if leaf.location(0) == RowLocation() { partial += 1 } else { whole += 1 }
            for slot in 0..<leaf.count {
                seen += 1
                let row = leaf.row(slot)
                let added = seen <= Self.rows ? 7 : seen + 1
                if !Self.agrees(row, seen, 1) || row.load(8, as: UInt64.self) != added { wrong.append(seen) }
            }
            return true
        }
        #expect(seen == 2 * Self.rows)
        #expect(partial > 40 && whole > 40)
        #expect(wrong == [])
    }

    @Test(arguments: ContradictionTests.nodes + ContradictionTests.tables)
    func aLeafThatContradictsItselfIsNotRead(_ wrong: ContradictionTests.Case) throws {
        guard wrong.page == .tableLeaf else { return }
        // The cells of texts are not unpacked.
        let isRead = ["cell", "empty cell", "blob", "shared cells"].contains(wrong.name)
        let bench = try PageBench()
        let pool = try FramePool(pageSize: 512, bytes: 16 * 512, files: bench.files)
        let leaf = PartialLeaf(1, pool, TableLayouts([TreeSample.layout]))
        let appender = bench.files.makeAppender()
        try TreeSample().withCopy(of: .tableLeaf) { page, bytes in
            for isWrong in [false, true] {
                if isWrong { wrong.change(page) }
                var reference = try bench.append(page.bytes(0, bytes).array, to: appender)
                reference.count = UInt64(page.count)
                #expect(try leaf.read(reference) == (!isWrong || isRead))
                reference.count += 1
                #expect(try !leaf.read(reference))
            }
        }
    }

    #if !os(iOS)
    @Test func aReadOfAnotherColumnStopsDebugBuilds() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (store, tree) = try PartialLeafTests.filled(step: 1)
            try store.engine.snapshot().table(tree).forEachLeaf(readsOnly: 1) { leaf throws(EngineError) in
                _ = leaf.row(0).load(7, as: UInt64.self)
                return true
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("The scan does not read column 7."))
    }
    #endif
}
