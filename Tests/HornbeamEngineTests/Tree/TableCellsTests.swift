import Testing

@testable import CrashHarness
@testable import HornbeamEngine

/// Cells read one at a time, beside dictionaries of rows: with reused frames, leaves with and without nulls, and snapshots
/// that are read long after.
@Suite struct TableCellsTests {
    typealias Row = OracleRow

    private struct Held {
        let cells: TableCells
        let rows: [UInt64: Row]
        /// Where rows were seen, right or not any more.
        var locations: [UInt64: RowLocation] = [:]
    }

    @Test(arguments: [512, 1024, 4096], 1...3 as ClosedRange<UInt64>)
    func cellsAreThoseOfTheVersion(_ pageSize: Int, _ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let store = try TestStore(pageSize: pageSize)
        let tree = try store.write { try $0.createTable(named: "t", layout: Row.layout) }
        var rows: [UInt64: Row] = [:]
        var held: [Held] = []
        for round in 0..<10 {
            try store.write { try Self.change(&rows, tree, $0, pageSize, &random) }
            if round % 3 == 2 { try store.engine.checkpoint() }
            if round == 7 {
                held = []
                try store.reopen()
            }
            let view = try store.engine.snapshot().table(tree)
            held.append(Held(cells: TableCells(view, cachingLeavesAfter: round % 2 == 0 ? 1 : 256), rows: rows))
            if held.count > 3 { held.remove(at: .random(in: 0..<held.count, using: &random)) }
            for number in held.indices { try Self.read(&held[number], 60, &random) }
        }
    }

    /// Appends runs of rows, some without a null, and replaces, patches and deletes a few.
    private static func change(
        _ rows: inout [UInt64: Row], _ tree: TreeID, _ transaction: WriteTransaction, _ pageSize: Int, _ random: inout SplitMix
    ) throws {
        let buffer = RowBuffer(layout: Row.layout)
        let hasNulls = Bool.random(using: &random)
        var next = (rows.keys.max() ?? 0) + (Int.random(in: 0..<3, using: &random) == 0 ? 1000 : 1)
        func put(_ key: UInt64, hasNulls: Bool) throws {
            var row = Row.random(pageSize: pageSize, &random)
            if !hasNulls {
                row = Row(long: row.long ?? 1, flag: row.flag ?? true, small: row.small ?? 2, text: row.text ?? [3], wide: row.wide ?? [])
            }
            row.fill(buffer)
            try transaction.put(buffer, key: key, in: tree)
            rows[key] = row
        }
        for _ in 0..<60 {
            try put(next, hasNulls: hasNulls)
            next += 1
        }
        for key in rows.keys.sorted() where Int.random(in: 0..<12, using: &random) == 0 {
            if Bool.random(using: &random) {
                try put(key, hasNulls: true)
            } else {
                #expect(try transaction.delete(key, from: tree))
                rows[key] = nil
            }
        }
    }

    private static func read(_ held: inout Held, _ count: Int, _ random: inout SplitMix) throws {
        let end = (held.rows.keys.max() ?? 0) + 3
        for _ in 0..<count {
            let key = UInt64.random(in: 0...end, using: &random)
            var location = held.locations[key] ?? RowLocation()
            if !held.cells.isFromThisVersion(location) || Bool.random(using: &random) {
                #expect(try held.cells.find(key, at: &location) == (held.rows[key] != nil), "key \(key)")
            }
            if held.rows[key] != nil { held.cells.prefetchTexts(at: location) }
            try expectCells(held.cells, key, &location, held.rows[key])
            held.locations[key] = location
        }
        try expectCellsOfSeveralRows(held, &random)
        try expectRowsBesideOthers(held, &random)
    }

    /// A read may be given the location of another row, near or far, in the same leaf or not; so may the search for several rows.
    private static func expectRowsBesideOthers(_ held: Held, _ random: inout SplitMix) throws {
        let end = (held.rows.keys.max() ?? 0) + 3
        var location = RowLocation()
        var key: UInt64 = 0
        for _ in 0..<60 {
            key = Int.random(in: 0..<4, using: &random) > 0 ? key + 1 : .random(in: 0...end, using: &random)
            var small: UInt16?
            let isThere = try held.cells.readRow(key, at: &location) { (row) throws(EngineError) in
                small = row.isNull(2) ? nil : row.load(2, as: UInt16.self)
            }
            #expect(isThere == (held.rows[key] != nil), "key \(key)")
            #expect(small == held.rows[key]?.small.map { UInt16(bitPattern: $0) })
        }
        let first = UInt64.random(in: 0...end, using: &random)
        let keys = (0..<40).map { first + UInt64($0) } + [0, end / 2]
        var locations = [RowLocation](repeating: RowLocation(), count: keys.count)
        try held.cells.find(keys[...], at: &locations)
        for (key, place) in zip(keys, locations) {
            #expect(held.cells.isFromThisVersion(place) == (held.rows[key] != nil), "key \(key)")
            var location = place
            let cell = try held.cells.fixedCell(key, at: &location, 2)
            let wanted = held.rows[key]?.small.map { UInt64(UInt16(bitPattern: $0)) }
            #expect(cell.state == (held.rows[key] == nil ? .noRow : wanted == nil ? .null : .value))
            if let wanted { #expect(cell.bits == wanted) }
        }
    }

    /// Rows in any order, and one that does not exist.
    private static func expectCellsOfSeveralRows(_ held: Held, _ random: inout SplitMix) throws {
        let keys = Array(held.rows.keys.shuffled(using: &random).prefix(.random(in: 0...100, using: &random)))
        let rows = keys.map { held.rows[$0]! }
        let columns = [rows.map { $0.long.map { UInt64(bitPattern: $0) } }, rows.map { $0.flag.map { $0 ? 1 : 0 } }]
        for (column, wanted) in columns.enumerated() {
            let cells = try held.cells.fixedCells(keys, column)
            #expect(cells?.map { $0.state == .value ? $0.bits : nil } == wanted)
            #expect(cells?.contains { $0.state == .noRow } == false)
        }
        let missing = (held.rows.keys.max() ?? 0) + 1
        #expect(try held.cells.fixedCells(keys + [missing], 0) == nil)
    }

    /// The direct reads may return no result, but never a wrong one.
    private static func expectCells(_ cells: TableCells, _ key: UInt64, _ location: inout RowLocation, _ row: Row?) throws {
        let numbers = [row?.long.map { UInt64(bitPattern: $0) }, row?.flag.map { $0 ? 1 : 0 }, row?.small.map { UInt64(UInt16(bitPattern: $0)) }]
        for (column, number) in numbers.enumerated() {
            if row != nil, let plain = cells.plainCell(at: location, column) { #expect(plain == number) }
            let cell = try cells.fixedCell(key, at: &location, column)
            #expect(cell.state == (row == nil ? .noRow : number == nil ? .null : .value))
            if let number { #expect(cell.bits == number) }
        }
        for (column, bytes) in [(3, row?.text), (4, row?.wide)] {
            let text = bytes.map { String(decoding: $0, as: UTF8.self) }
            if row != nil, let plain = cells.plainText(at: location, column) { #expect(plain == text) }
            switch try cells.textCell(key, at: &location, column) {
            case .noRow: #expect(row == nil)
            case .null: #expect(row != nil && text == nil)
            case .text(let found): #expect(found == text)
            }
            var lent: [UInt8]?
            #expect(try cells.readTextBytes(key, at: &location, column) { lent = $0.map { Array($0) } } == (row != nil))
            #expect(lent == bytes)
            let isIt = try Array(bytes ?? []).withUnsafeBytes { try cells.isText(key, at: &location, column, $0) }
            // One that is outside of the leaf is passed over.
            #expect(isIt == (bytes != nil && cells.plainText(at: location, column) != nil))
            let isOther = try ((bytes ?? []) + [9]).withUnsafeBytes { try cells.isText(key, at: &location, column, $0) }
            #expect(!isOther)
        }
    }
}
