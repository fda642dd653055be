/// The groups of a fetch of dictionaries while they are computed: the totals for each combination of grouped values.
package struct GroupTable {
    package let program: DictionaryProgram
    /// The numbers of the first groups by their values; groups that were added since then are missing.
    private var slots: [[PropertyValue]: Int] = [:]
    private var indexedCount = 0
    private var keys: [[PropertyValue]] = []
    /// The least object key in each group. Groups without a sort order are sorted by it.
    private var leastKeys: [UInt64] = []
    /// The totals of the first group, then those of the second group, and so on.
    private var totals: [AggregateAccumulator] = []
    private let emptyTotals: [AggregateAccumulator]

    package init(_ program: DictionaryProgram) {
        self.program = program
        emptyTotals = program.totals.map { AggregateAccumulator($0.function, isDistinct: $0.isDistinct) }
        // A fetch without grouping has one group, even if there are no objects.
        if program.grouping.isEmpty { _ = slot(for: []) }
    }

    package var count: Int { keys.count }

    // MARK: Adding

    /// The number of the group with these values.
    package mutating func slot(for key: [PropertyValue]) -> Int {
        while indexedCount < keys.count {
            slots[keys[indexedCount]] = indexedCount
            indexedCount += 1
        }
        return slots[key] ?? addSlot(for: key)
    }

    /// Adds a group whose values no other group has. Returns its number.
    package mutating func addSlot(for key: [PropertyValue]) -> Int {
        keys.append(key)
        leastKeys.append(.max)
        totals += emptyTotals
        return keys.count - 1
    }

    /// Records the keys of objects in their groups.
    package mutating func recordKeys(_ objects: [UInt64], in slots: [Int]) {
        for (object, slot) in zip(objects, slots) where object < leastKeys[slot] { leastKeys[slot] = object }
    }

    /// Adds a value to a total of a group.
    package mutating func add(_ value: PropertyValue, to total: Int, in slot: Int) { totals[slot * emptyTotals.count + total].add(value) }

    /// Adds one number to a total of each group in a list.
    package mutating func add(_ numbers: [Int64], to total: Int, in slots: [Int]) {
        for (number, slot) in zip(numbers, slots) { totals[slot * emptyTotals.count + total].add(number) }
    }

    package mutating func add(_ numbers: [Double], to total: Int, in slots: [Int]) {
        for (number, slot) in zip(numbers, slots) { totals[slot * emptyTotals.count + total].add(number) }
    }

    /// Counts an object, or a value that no other object of the group has.
    package mutating func addObject(to total: Int, in slot: Int) { totals[slot * emptyTotals.count + total].addObject() }

    package mutating func addObjects(to total: Int, in slots: [Int]) {
        for slot in slots { totals[slot * emptyTotals.count + total].addObject() }
    }

    /// Counts objects in the only group of a fetch without grouping.
    package mutating func addObjects(_ count: Int, to total: Int) { totals[total].addObjects(count) }

    /// Adds an object with all its inputs.
    package mutating func add(_ inputs: [PropertyValue], object: UInt64) {
        let slot = slot(for: program.grouping.map { inputs[$0].groupingForm })
        recordKeys([object], in: [slot])
        for (place, total) in program.totals.enumerated() { add(inputs[total.input], to: place, in: slot) }
    }

    /// Adds the groups of other objects.
    package mutating func add(_ other: GroupTable) {
        let width = emptyTotals.count
        for (number, key) in other.keys.enumerated() {
            let slot = slot(for: key)
            recordKeys([other.leastKeys[number]], in: [slot])
            for place in 0 ..< width { totals[slot * width + place].add(other.totals[number * width + place]) }
        }
    }

    // MARK: The result

    /// The values of the dictionaries, by column.
    /// - Throws: The errors of evaluating a having predicate or a column.
    package func rows() throws -> [[PropertyValue]] {
        try Self.rows(keys.indices.map { (values(of: $0), leastKeys[$0]) }, program)
    }

    /// The values of the dictionaries of groups that a store has made.
    package static func rows(of groups: [StoreGroup], _ program: DictionaryProgram) throws -> [[PropertyValue]] {
        try rows(
            groups.map { (GroupValues(grouping: program.grouping, inputs: $0.keys, totals: $0.totals), $0.first ?? .max) }, program)
    }

    private static func rows(_ groups: [(values: GroupValues, first: UInt64)], _ program: DictionaryProgram) throws -> [[PropertyValue]] {
        var rows: [DictionaryRow] = []
        for group in groups {
            if let having = program.having, try !having.evaluate(with: .null, variables: group.values.variables) { continue }
            rows.append(try program.row(group.values, first: group.first))
        }
        return program.distinctSortedAndLimited(rows)
    }

    private func values(of slot: Int) -> GroupValues {
        let totals = totals[slot * emptyTotals.count ..< (slot + 1) * emptyTotals.count].map(\.result)
        return GroupValues(grouping: program.grouping, inputs: keys[slot], totals: totals)
    }
}

extension PropertyValue {
    /// The form in which equal values are identical: −0 becomes 0.
    package var groupingForm: PropertyValue {
        if case .double(let number) = self, number == 0 { return .double(0) }
        return self
    }
}

/// The values of one group, or of one object.
struct GroupValues {
    /// The numbers of the grouped inputs, and their values.
    let grouping: [Int]
    let inputs: [PropertyValue]
    let totals: [PropertyValue]

    /// The value of an input; null if the objects are not grouped by it.
    func value(ofInput input: Int) -> PropertyValue { grouping.firstIndex(of: input).map { inputs[$0] } ?? .null }

    var variables: [String: PropertyValue] {
        var variables: [String: PropertyValue] = [:]
        for (input, value) in zip(grouping, inputs).reversed() { variables[DictionaryProgram.name(ofInput: input)] = value }
        for (total, value) in totals.enumerated() { variables[DictionaryProgram.name(ofTotal: total)] = value }
        return variables
    }
}

/// A dictionary that is not yet sorted and limited.
struct DictionaryRow {
    var values: [PropertyValue]
    var sortKeys: [PropertyValue]
    var first: UInt64
}

extension DictionaryProgram {
    /// The dictionaries of objects. Removes duplicates, sorts and limits, unless the fetch of the objects has done so.
    ///
    /// - Parameters:
    ///   - count: The number of objects that the fetch found.
    ///   - read: Computes inputs for objects, which are given by their places in the results of the fetch. If the order uses a computed value, it
    ///     is called first for the values of the order, and then for the objects in the window only.
    ///   - isSorted: True if the objects are those of the window, in the order of the dictionaries.
    package func rows(
        ofObjects count: Int, isSorted: Bool = false, reading read: (_ inputs: [Node], _ places: [Int]) throws -> [[PropertyValue]]
    ) throws -> [[PropertyValue]] {
        var places = Array(0 ..< count)
        let order = sorts.compactMap { if case .input(let input) = $0.formula { input } else { nil } }
        if !isDistinct, orderAppliesToDictionaries, !isSorted { places = sortedAndLimited(try read(order.map { inputs[$0] }, places), count) }
        // Column i is input i. Further inputs are values of the order only.
        let values = try read(isDistinct ? inputs : Array(inputs.prefix(columns.count)), places)
        let rows = try places.indices.map { place in
            try columns.indices.map { try typed(values[$0][place], columns[$0]) }
        }
        guard isDistinct else { return rows }
        return distinctSortedAndLimited(
            rows.enumerated().map { place, row in
                DictionaryRow(values: row, sortKeys: order.map { values[$0][place] }, first: UInt64(place))
            })
    }

    /// The places of the objects in the window, in the order of the dictionaries.
    ///
    /// - Parameter keys: The values of each criterion for all objects.
    private func sortedAndLimited(_ keys: [[PropertyValue]], _ count: Int) -> [Int] {
        let precedes = { (a: Int, b: Int) -> Bool in
            for (number, sort) in sorts.enumerated() {
                let order = sort.sort.order(keys[number][a], keys[number][b])
                if order != .same { return order == .less }
            }
            return a < b
        }
        guard let end = window.end, end < count / 4 else { return Array(window.of((0 ..< count).sorted(by: precedes))) }
        // The first `end` objects so far, and at most as many more that precede the last of them.
        var kept: [Int] = []
        var last: Int?
        for place in 0 ..< count where last.map({ precedes(place, $0) }) ?? true {
            kept.append(place)
            guard kept.count == 2 * end else { continue }
            kept.sort(by: precedes)
            kept.removeLast(end)
            last = kept.last
        }
        return Array(window.of(kept.sorted(by: precedes)))
    }

    /// The values of one object's dictionary, from all inputs of the object.
    package func row(ofInputs inputs: [PropertyValue]) throws -> [PropertyValue] {
        try columns.indices.map { try typed(inputs[$0], columns[$0]) }
    }

    /// The values of the only dictionary of a fetch without grouping.
    package func row(ofTotals totals: [PropertyValue]) throws -> [PropertyValue] {
        let values = GroupValues(grouping: [], inputs: [], totals: totals)
        return try columns.map { try typed(value(of: $0.formula, values), $0) }
    }

    fileprivate func row(_ values: GroupValues, first: UInt64) throws -> DictionaryRow {
        DictionaryRow(
            values: try columns.map { try typed(value(of: $0.formula, values), $0) },
            sortKeys: try sorts.map { try value(of: $0.formula, values) }, first: first)
    }

    private func value(of formula: Formula, _ values: GroupValues) throws -> PropertyValue {
        switch formula {
        case .input(let input): values.value(ofInput: input)
        case .total(let total): values.totals[total]
        case .computed(let expression):
            try expression.value(with: .null, variables: values.variables).propertyValue ?? .null
        }
    }

    private func typed(_ value: PropertyValue, _ column: Column) throws -> PropertyValue {
        guard let type = column.type else { return value }
        return try value.coerced(to: type, key: column.name)
    }

    fileprivate func distinctSortedAndLimited(_ rows: [DictionaryRow]) -> [[PropertyValue]] {
        var rows = rows
        if isDistinct {
            var seen: Set<[PropertyValue]> = []
            rows = rows.filter { seen.insert($0.values.map(\.groupingForm)).inserted }
        }
        if rows.count > 1, isGrouped || !sorts.isEmpty { rows.sort(by: precedes) }
        return window.of(rows).map(\.values)
    }

    private func precedes(_ a: DictionaryRow, _ b: DictionaryRow) -> Bool {
        for (place, sort) in sorts.enumerated() {
            let order = sort.sort.order(a.sortKeys[place], b.sortKeys[place])
            if order != .same { return order == .less }
        }
        return a.first < b.first
    }
}
