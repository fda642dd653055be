internal import HornbeamEngine
package import HornbeamModel

/// Adds the rows of a fetch to groups and totals. Numbers are added from cells without a `PropertyValue`. If one column of fixed width
/// or of texts is grouped, the group of a row is found by the cell. Two numbers or references are found by the pair, and the value at the end of a
/// path by the first object on the path.
final class GroupAccumulator {
    private(set) var groups: GroupTable
    private let reader: DictionaryInputReader
    /// Groups by cell, for a single grouped column of fixed width or the first column of a single path.
    private var slotsByCell: [UInt64: Int] = [:]
    private var slotOfNull: Int?
    /// The last destination of the first column of a single path, and its group. Rows of one owner are often adjacent.
    private var lastTarget: (key: UInt64, slot: Int)?
    /// Groups by two numbers or references.
    private var slotsByPair: [NumberPair: Int] = [:]
    /// Groups by the bytes of a text, for a single grouped column of texts.
    private var slotsByText = TextSlots()

    init(_ program: DictionaryProgram, _ context: FilterContext) {
        groups = GroupTable(program)
        reader = DictionaryInputReader(program.inputs, context)
    }

    private var program: DictionaryProgram { groups.program }

    func add(_ inputs: [PropertyValue], object: UInt64) { groups.add(inputs, object: object) }

    // MARK: Parts

    /// True when partial totals combine to exactly the same result: functions that do not round, and sums that cannot overflow.
    func canScanInParts(_ table: EntityTable) -> Bool {
        let sources = reader.programs(of: table).programs
        for input in program.grouping {
            guard case .cell = sources[input] else { return false }
        }
        return program.totals.allSatisfy { total in
            switch (total.function, sources[total.input]) {
            case (.count, .object), (.count, .cell), (.min, .cell), (.max, .cell): true
            case (.sum, .cell(let column)), (.average, .cell(let column)): column.type == .int16 || column.type == .int32
            default: false
            }
        }
    }

    func emptyCopy(_ context: FilterContext) -> GroupAccumulator { GroupAccumulator(program, context) }

    func add(_ other: GroupTable) { groups.add(other) }

    // MARK: Rows

    func accept(_ selection: Selection, _ leaf: LeafView, _ table: EntityTable) throws(EngineError) {
        try prepare(selection, leaf, table)
        if program.grouping.isEmpty, try addColumns(selection, leaf, table) { return }
        _ = try selection.forEach { (slot) throws(EngineError) -> Bool in
            try accept(leaf.row(slot), leaf.key(slot), table)
            return true
        }
    }

    func accept(_ row: RowView, _ key: UInt64, _ table: EntityTable) throws(EngineError) {
        let sources = reader.programs(of: table).programs
        let slot = try slot(row, key, table, sources)
        groups.recordKey(key, in: slot)
        for (place, total) in program.totals.enumerated() {
            try add(sources[total.input], to: place, in: slot, row, key, table)
        }
    }

    /// Reads the related objects of a whole leaf, in key order.
    private func prepare(_ selection: Selection, _ leaf: LeafView, _ table: EntityTable) throws(EngineError) {
        let programs = reader.programs(of: table)
        guard !programs.paths.isEmpty || !programs.counters.isEmpty else { return }
        var keys: [UInt64] = []
        _ = selection.forEach { slot in
            keys.append(leaf.key(slot))
            return true
        }
        try reader.prepare(keys, expecting: 0, programs) { body throws(EngineError) in
            _ = selection.forEach { slot in
                body(leaf.row(slot))
                return true
            }
        }
    }

    // MARK: Groups

    private func slot(
        _ row: RowView, _ key: UInt64, _ table: EntityTable, _ sources: [ColumnProgram]
    ) throws(EngineError) -> Int {
        if program.grouping.isEmpty { return 0 }
        if program.grouping.count == 1, case .cell(let column) = sources[program.grouping[0]] {
            if let width = column.type.cellWidth { return try slot(row, column, width) }
            if column.type == .string, !row.isNull(column.column) { return try slot(row, ofText: column) }
        }
        if program.grouping.count == 1, case .path(let column, _, _) = sources[program.grouping[0]], !row.isNull(column.column) {
            return try slot(row, key, table, sources, ofPathFrom: column)
        }
        if program.grouping.count == 2, let first = try reader.number(sources[program.grouping[0]], row, key),
            let second = try reader.number(sources[program.grouping[1]], row, key)
        {
            let pair = NumberPair(first: first.bits, second: second.bits, nulls: (first.isNull ? 1 : 0) + (second.isNull ? 2 : 0))
            if let known = slotsByPair[pair] { return known }
            let slot = try newSlot(row, key, table, sources)
            slotsByPair[pair] = slot
            return slot
        }
        return try newSlot(row, key, table, sources)
    }

    /// The group of a row by its values.
    private func newSlot(
        _ row: RowView, _ key: UInt64, _ table: EntityTable, _ sources: [ColumnProgram]
    ) throws(EngineError) -> Int {
        var values: [PropertyValue] = []
        for input in program.grouping { values.append(try reader.value(sources[input], row, key, table).groupingForm) }
        return groups.slot(for: values)
    }

    private func slot(_ row: RowView, _ column: StoredColumn, _ width: Int) throws(EngineError) -> Int {
        let isNull = row.isNull(column.column)
        let cell = isNull ? 0 : column.bits(in: row, width)
        if let known = isNull ? slotOfNull : slotsByCell[cell] { return known }
        let slot = groups.slot(for: [try reader.cell(column, row).groupingForm])
        if isNull { slotOfNull = slot } else { slotsByCell[cell] = slot }
        return slot
    }

    private func slot(
        _ row: RowView, _ key: UInt64, _ table: EntityTable, _ sources: [ColumnProgram], ofPathFrom column: StoredColumn
    ) throws(EngineError) -> Int {
        let target = row.load(column.column, as: UInt64.self)
        if let lastTarget, lastTarget.key == target { return lastTarget.slot }
        let slot = if let known = slotsByCell[target] { known } else { try newSlot(row, key, table, sources) }
        slotsByCell[target] = slot
        lastTarget = (target, slot)
        return slot
    }

    private func slot(_ row: RowView, ofText column: StoredColumn) throws(EngineError) -> Int {
        let known = unsafe try row.withBytes(column.column) { (text) throws(EngineError) in unsafe slotsByText.slot(text) }
        if let known { return known }
        let slot = groups.slot(for: [try reader.cell(column, row)])
        unsafe try row.withBytes(column.column) { (text) throws(EngineError) in unsafe slotsByText.add(text, slot) }
        return slot
    }

    // MARK: Totals

    private func add(
        _ source: ColumnProgram, to total: Int, in slot: Int, _ row: RowView, _ key: UInt64, _ table: EntityTable
    ) throws(EngineError) {
        switch source {
        case .object: groups.withTotal(total, in: slot) { $0.addObject() }
        case .cell(let column) where column.type.isWholeNumber:
            if !row.isNull(column.column) {
                let number = column.int(in: row)
                groups.withTotal(total, in: slot) { $0.add(number) }
            }
        case .cell(let column) where column.type == .double || column.type == .float:
            if !row.isNull(column.column) {
                let number = column.double(in: row)
                groups.withTotal(total, in: slot) { $0.add(number) }
            }
        default:
            let value = try reader.value(source, row, key, table)
            groups.withTotal(total, in: slot) { $0.add(value) }
        }
    }

    /// Adds the rows of a leaf to the totals column by column. Returns false when a total is not over a column of numbers.
    private func addColumns(_ selection: Selection, _ leaf: LeafView, _ table: EntityTable) throws(EngineError) -> Bool {
        let sources = reader.programs(of: table).programs
        for total in program.totals where !sources[total.input].isCountable { return false }
        let count = selection.selectedCount
        for (place, total) in program.totals.enumerated() {
            switch sources[total.input] {
            case .cell(let column):
                groups.withTotal(place, in: 0) { sum in Self.add(column, to: &sum, selection, leaf) }
            default: groups.withTotal(place, in: 0) { $0.addObjects(count) }
            }
        }
        return true
    }

    private static func add(_ column: StoredColumn, to total: inout AggregateAccumulator, _ selection: Selection, _ leaf: LeafView) {
        let isWhole = column.type.isWholeNumber
        _ = selection.forEach { slot in
            let row = leaf.row(slot)
            guard !row.isNull(column.column) else { return true }
            if isWhole { total.add(column.int(in: row)) } else { total.add(column.double(in: row)) }
            return true
        }
    }
}

/// Two numbers or references, of which each may be null.
private struct NumberPair: Hashable {
    let first: UInt64
    let second: UInt64
    let nulls: UInt8
}

/// The groups of some texts, found by the bytes of the text. A text replaces another one with the same place.
private struct TextSlots {
    private static let placeCount = 64
    private var entries = [(text: [UInt8], slot: Int)?](repeating: nil, count: TextSlots.placeCount)

    func slot(_ text: UnsafeRawBufferPointer) -> Int? {
        guard let entry = entries[unsafe Self.place(text)], entry.text.count == text.count,
            unsafe entry.text.withUnsafeBytes({ unsafe $0.elementsEqual(text) })
        else { return nil }
        return entry.slot
    }

    mutating func add(_ text: UnsafeRawBufferPointer, _ slot: Int) { entries[unsafe Self.place(text)] = (unsafe Array(text), slot) }

    /// A hash of the length and the first bytes.
    private static func place(_ text: UnsafeRawBufferPointer) -> Int {
        var hash = UInt64(truncatingIfNeeded: text.count)
        for unsafe byte in unsafe text.prefix(16) { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return Int(truncatingIfNeeded: (hash ^ hash >> 32) % UInt64(placeCount))
    }
}

extension ColumnProgram {
    /// True for inputs that are totalled without a `PropertyValue`.
    fileprivate var isCountable: Bool {
        switch self {
        case .object: true
        case .cell(let column): column.type.isWholeNumber || column.type == .double || column.type == .float
        default: false
        }
    }
}

extension CellType {
    var isWholeNumber: Bool { self == .int16 || self == .int32 || self == .int64 }
}

/// A changed object that takes part in groups: its key, and the inputs of the program.
package struct GroupedObject {
    package let key: UInt64
    package let inputs: [PropertyValue]

    package init(key: UInt64, inputs: [PropertyValue]) {
        self.key = key
        self.inputs = inputs
    }
}
