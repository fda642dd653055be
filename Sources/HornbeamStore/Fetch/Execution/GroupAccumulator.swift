internal import HornbeamEngine
package import HornbeamModel

/// Adds the rows of a fetch to groups and totals, a leaf at a time: first the groups of all rows, then one total after the other. Numbers are added
/// from cells without a `PropertyValue`.
///
/// The group of a row is found by the bits of one or two numbers or references, by the bytes of a text, or, for a value at the end of a path, by the
/// first object on the path.
final class GroupAccumulator: RowFeed {
    private(set) var groups: GroupTable
    private let reader: DictionaryInputReader
    /// True if no values are added to the groups later, so that different values need only be counted.
    private let countsDistinct: Bool
    /// Indexed by entity index.
    private var plans: [GroupPlan?]
    private var numberedKeys = NumberedPairs()
    private var numberedTexts = NumberedTexts()
    private var numberedTargets = NumberedPairs()
    /// The groups by number.
    private var slotsOfKeys: [Int] = []
    private var slotsOfTexts: [Int] = []
    private var slotsOfTargets: [Int] = []
    /// The last destination of a grouped path, and its group. Rows of one owner are often adjacent.
    private var lastTarget: (key: UInt64, slot: Int)?
    /// For each total of different values: the values, and the pairs of group and value that have occurred.
    private var distinct: [(texts: NumberedTexts, pairs: NumberedPairs)]

    init(_ program: DictionaryProgram, _ context: FilterContext, countsDistinct: Bool = false) {
        groups = GroupTable(program)
        reader = DictionaryInputReader(program.inputs, context)
        self.countsDistinct = countsDistinct
        plans = Array(repeating: nil, count: context.schema.tables.count)
        distinct = program.totals.map { _ in (NumberedTexts(), NumberedPairs()) }
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
            guard !total.isDistinct else { return false }
            return switch (total.function, sources[total.input]) {
            case (.count, .object), (.count, .cell), (.min, .cell), (.max, .cell): true
            case (.sum, .cell(let column)), (.average, .cell(let column)): column.type == .int16 || column.type == .int32
            default: false
            }
        }
    }

    func onlyColumns(of table: EntityTable) -> UInt64? { reader.programs(of: table).programs.map(\.onlyColumns).union }

    func emptyCopy(_ context: FilterContext) -> any RowFeed { GroupAccumulator(program, context) }

    func add(_ other: any RowFeed) {
        if let other = other as? GroupAccumulator { groups.add(other.groups) }
    }

    // MARK: Rows

    func accept(_ rows: RowBatch, _ table: EntityTable) throws(EngineError) {
        let plan = plan(of: table)
        if case .rows(let scattered) = rows {
            // The cache misses of different rows overlap.
            for row in scattered { row.prefetchCells(plan.cells) }
            for row in scattered { row.prefetchTexts(plan.texts) }
        }
        try reader.prepare(rows, expecting: 0, plan.prepared)
        let isOneGroup = program.grouping.isEmpty
        let slots = isOneGroup ? [] : try self.slots(of: rows, plan, table)
        for (place, source) in plan.totals.enumerated() {
            switch source {
            case .object: if isOneGroup { groups.addObjects(rows.count, to: place) } else { groups.addObjects(to: place, in: slots) }
            case .int(let column): try addNumbers(of: rows, to: place, in: slots, column) { column.int(in: $0) } adding: { $0.add($1, to: place, in: $2) }
            case .double(let column): try addNumbers(of: rows, to: place, in: slots, column) { column.double(in: $0) } adding: { $0.add($1, to: place, in: $2) }
            case .distinctNumbers, .distinctTexts, .values: try addValues(of: rows, to: place, in: slots, source, table)
            }
        }
    }

    private func plan(of table: EntityTable) -> GroupPlan {
        if let known = plans[Int(table.index)] { return known }
        let made = GroupPlan(program, reader.programs(of: table).programs)
        plans[Int(table.index)] = made
        return made
    }

    /// Passes the numbers of a column to a total. Nulls are left out.
    private func addNumbers<Number>(
        of rows: RowBatch, to total: Int, in slots: [Int], _ column: StoredColumn, _ number: (RowView) -> Number,
        adding add: (inout GroupTable, [Number], [Int]) -> Void
    ) throws(EngineError) {
        var numbers: [Number] = []
        var slotsOfNumbers: [Int] = []
        numbers.reserveCapacity(rows.count)
        slotsOfNumbers.reserveCapacity(rows.count)
        var place = 0
        try rows.forEach { (row) throws(EngineError) in
            if !row.isNull(column.column) {
                numbers.append(number(row))
                slotsOfNumbers.append(slots.isEmpty ? 0 : slots[place])
            }
            place += 1
        }
        add(&groups, numbers, slotsOfNumbers)
    }

    private func addValues(of rows: RowBatch, to total: Int, in slots: [Int], _ source: GroupPlan.Source, _ table: EntityTable) throws(EngineError) {
        var place = 0
        try rows.forEach { (row) throws(EngineError) in
            let slot = slots.isEmpty ? 0 : slots[place]
            place += 1
            guard let program = try newValue(source, of: row, total, in: slot) else { return }
            if countsDistinct, source.isCounted { return groups.addObject(to: total, in: slot) }
            groups.add(try reader.value(program, row, row.key, table), to: total, in: slot)
        }
    }

    /// The program of a total's value; nil if the value is null, or its group has it already.
    private func newValue(_ source: GroupPlan.Source, of row: RowView, _ total: Int, in slot: Int) throws(EngineError) -> ColumnProgram? {
        switch source {
        case .values(let program): return program
        case .distinctNumbers(let program):
            guard let number = try reader.number(program, row, row.key), !number.isNull else { return nil }
            return distinct[total].pairs.number(UInt64(slot), number.bits).isNew ? program : nil
        case .distinctTexts(let column):
            if row.isNull(column.column) { return nil }
            let number = unsafe try row.withBytes(column.column) { (text) throws(EngineError) in unsafe distinct[total].texts.number(text).number }
            return distinct[total].pairs.number(UInt64(slot), UInt64(number)).isNew ? .cell(column) : nil
        case .object, .int, .double: return nil
        }
    }

    // MARK: Groups

    /// The groups of some rows. Records the objects in them.
    private func slots(of rows: RowBatch, _ plan: GroupPlan, _ table: EntityTable) throws(EngineError) -> [Int] {
        var slots: [Int] = []
        var keys: [UInt64] = []
        slots.reserveCapacity(rows.count)
        keys.reserveCapacity(rows.count)
        if case .text(let column) = plan.key {
            // Neighbouring rows often have the same text.
            var last: (text: UnsafeRawBufferPointer, slot: Int)?
            try rows.forEach { (row) throws(EngineError) in
                keys.append(row.key)
                let text = row.isNull(column.column) ? nil : unsafe row.leaf.bytesInLeaf(column.column, row.slot)
                if let text = unsafe text, let last = unsafe last, unsafe text.hasSameBytes(as: last.text) { return slots.append(unsafe last.slot) }
                slots.append(try slot(of: row, row.key, table, plan, text: column))
                unsafe last = unsafe text.map { unsafe ($0, slots[slots.count - 1]) }
            }
            groups.recordKeys(keys, in: slots)
            return slots
        }
        try rows.forEach { (row) throws(EngineError) in
            let key = row.key
            keys.append(key)
            switch plan.key {
            case .values: slots.append(try newSlot(row, key, table, plan))
            case .number(let program): slots.append(try slot(of: row, key, table, plan, program, nil))
            case .pair(let first, let second): slots.append(try slot(of: row, key, table, plan, first, second))
            case .text(let column): slots.append(try slot(of: row, key, table, plan, text: column))
            case .path(let column, let rest): slots.append(try slot(of: row, key, table, plan, column, rest))
            }
        }
        groups.recordKeys(keys, in: slots)
        return slots
    }

    /// The group of a row by its values.
    ///
    /// - Parameter isNew: True if no row before had the same values. Nothing is searched then.
    private func newSlot(
        _ row: RowView, _ key: UInt64, _ table: EntityTable, _ plan: GroupPlan, isNew: Bool = false
    ) throws(EngineError) -> Int {
        var values: [PropertyValue] = []
        for program in plan.grouping { values.append(try reader.value(program, row, key, table).groupingForm) }
        return isNew ? groups.addSlot(for: values) : groups.slot(for: values)
    }

    private func slot(
        of row: RowView, _ key: UInt64, _ table: EntityTable, _ plan: GroupPlan, _ first: ColumnProgram, _ second: ColumnProgram?
    ) throws(EngineError) -> Int {
        guard let one = try reader.number(first, row, key) else { return try newSlot(row, key, table, plan) }
        var other: (bits: UInt64, isNull: Bool) = (0, false)
        if let second {
            guard let number = try reader.number(second, row, key) else { return try newSlot(row, key, table, plan) }
            other = number
        }
        let (number, isNew) = numberedKeys.number(one.bits, other.bits, tag: (one.isNull ? 1 : 0) + (other.isNull ? 2 : 0))
        // Groups that were found in another way may have the same values.
        if isNew { slotsOfKeys.append(try newSlot(row, key, table, plan, isNew: groups.count == slotsOfKeys.count)) }
        return slotsOfKeys[number]
    }

    private func slot(
        of row: RowView, _ key: UInt64, _ table: EntityTable, _ plan: GroupPlan, text column: StoredColumn
    ) throws(EngineError) -> Int {
        if row.isNull(column.column) { return try newSlot(row, key, table, plan) }
        let (number, isNew) = unsafe try row.withBytes(column.column) { (text) throws(EngineError) in unsafe numberedTexts.number(text) }
        if isNew { slotsOfTexts.append(try newSlot(row, key, table, plan)) }
        return slotsOfTexts[number]
    }

    private func slot(
        of row: RowView, _ key: UInt64, _ table: EntityTable, _ plan: GroupPlan, _ column: StoredColumn, _ rest: [PropertyDescription]
    ) throws(EngineError) -> Int {
        guard let target = column.reference(in: row, schema: reader.context.schema) else { return try newSlot(row, key, table, plan) }
        if let lastTarget, lastTarget.key == target.key { return lastTarget.slot }
        let (number, isNew) = numberedTargets.number(target.key)
        if isNew { slotsOfTargets.append(try slot(of: row, key, table, plan, target, rest)) }
        lastTarget = (target.key, slotsOfTargets[number])
        return slotsOfTargets[number]
    }

    /// The group of the first row that refers to an object.
    private func slot(
        of row: RowView, _ key: UInt64, _ table: EntityTable, _ plan: GroupPlan, _ target: ObjectReference, _ rest: [PropertyDescription]
    ) throws(EngineError) -> Int {
        guard let number = try reader.number(atEndOf: rest, of: target) else { return try newSlot(row, key, table, plan) }
        let (place, isNew) = numberedKeys.number(number.bits, tag: number.isNull ? 1 : 0)
        if isNew { slotsOfKeys.append(try newSlot(row, key, table, plan)) }
        return slotsOfKeys[place]
    }
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
