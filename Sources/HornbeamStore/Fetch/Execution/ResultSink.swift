internal import HornbeamEngine
internal import HornbeamModel

/// Receives the matching rows of a fetch and produces the result: a count, or rows in order.
final class ResultSink {
    enum Mode {
        case count
        /// Rows in the order of arrival.
        case collect
        /// Rows in the order of their keys.
        case collectByKey
        case sort([SortKey])
        /// Groups, or another result that is computed from the rows.
        case feed(any RowFeed)
        /// A bitmap of the matching rows of each leaf, for scans only.
        case select
    }

    private let mode: Mode
    /// The number of results that are needed; nil for all.
    private var neededCount: Int?
    /// The number of leading results that the execution skipped by rank. The sink does not receive them.
    private(set) var skippedCount = 0
    private let context: FilterContext
    private let excluding: Set<UInt64>
    private(set) var count = 0
    private var rows = ResultSet()
    private var sorter: ResultSorter?
    private var feed: (any RowFeed)?
    /// Selected rows by entity index.
    private(set) var selected: [Int32: RowSelection] = [:]

    init(_ mode: Mode, neededCount: Int?, excluding: Set<UInt64>, context: FilterContext) {
        self.mode = mode
        self.neededCount = neededCount
        self.context = context
        self.excluding = excluding
        switch mode {
        case .sort(let sorts): sorter = ResultSorter(sorts, neededCount: neededCount, context: context)
        case .feed(let feed): self.feed = feed
        case .count, .collect, .collectByKey, .select: break
        }
    }

    /// True when the rows are needed in addition to their keys.
    var needsRows: Bool { sorter != nil || feed != nil }

    /// The columns of scanned leaves that the sink reads, in the form of `Filter.onlyColumns`. A list of rows, a bitmap or a count needs only keys.
    func onlyColumns(of table: EntityTable) -> UInt64? {
        if let sorter { return sorter.onlyColumns(of: table) }
        if let feed { return feed.onlyColumns(of: table) }
        return 0
    }

    /// True if the sink passes rows to a feed.
    var isFeeding: Bool { feed != nil }

    /// True if no objects are excluded.
    var isComplete: Bool { excluding.isEmpty }

    var isCounting: Bool { if case .count = mode { true } else { false } }

    /// True if the sink needs all rows and never stops early.
    var readsAll: Bool {
        if case .collect = mode { return neededCount == nil }
        return true
    }

    /// The cost of a matching row in the sink, in the planner's unit.
    var rowCost: Int {
        switch mode {
        case .count, .select: 0
        case .collect, .collectByKey: 2
        case .sort: 4
        case .feed: 8
        }
    }

    // MARK: Parts

    /// True when parts of a table's rows can be processed separately and combined to the same result.
    func canScanInParts(_ table: EntityTable) -> Bool { feed?.canScanInParts(table) ?? true }

    /// A sink for another part of the rows.
    func emptyCopy(_ context: FilterContext) -> ResultSink {
        var mode = mode
        if let feed { mode = .feed(feed.emptyCopy(context)) }
        return ResultSink(mode, neededCount: neededCount, excluding: excluding, context: context)
    }

    /// Appends the result of a sink for another part, whose rows follow those of this sink.
    func add(_ other: ResultSink) {
        count += other.count
        rows.append(other.rows)
        for (entity, rows) in other.selected { selected[entity, default: RowSelection()].append(rows) }
        if let found = other.sorter { sorter?.add(found) }
        if let other = other.feed { feed?.add(other) }
    }

    /// Records that the execution skipped a number of leading results.
    func recordSkipped(_ number: Int) {
        skippedCount += number
        neededCount = neededCount.map { $0 - number }
    }

    /// True when no further row can change the result.
    private var hasEnoughRows: Bool {
        guard let neededCount else { return false }
        if case .collect = mode { return rows.count >= neededCount }
        return false
    }

    // MARK: Rows

    /// Receives all selected rows of a leaf, in key order. Returns false when no more rows are needed.
    func accept(
        _ selection: inout Selection, _ leaf: LeafView, _ table: EntityTable
    ) throws(EngineError) -> Bool {
        if !excluding.isEmpty { selection.filter { !excluding.contains(leaf.key($0)) } }
        if case .count = mode {
            count += selection.selectedCount
            return true
        }
        if case .select = mode {
            selected[table.index, default: RowSelection()].append(leaf, selection.words)
            return true
        }
        if let sorter {
            try sorter.accept(&selection, leaf, table)
            return true
        }
        if let feed {
            try feed.accept(.leaf(leaf, selection), table)
            return true
        }
        rows.append(selection, of: leaf, entityIndex: table.index)
        return !hasEnoughRows
    }

    /// Receives one row. Returns false when no more rows are needed.
    func accept(
        _ row: RowView, _ key: UInt64, _ location: RowLocation, _ table: EntityTable
    ) throws(EngineError) -> Bool {
        if excluding.contains(key) { return true }
        if let sorter {
            try sorter.accept(row, key, location, table)
            return true
        }
        if let feed {
            try feed.accept(.row(row), table)
            return true
        }
        return acceptUnread(ObjectReference(entityIndex: table.index, key: key), RowHint(location))
    }

    /// Receives several rows for a feed, by ascending key.
    func accept(_ rows: [RowView], _ table: EntityTable) throws(EngineError) {
        let rows = excluding.isEmpty ? rows : rows.filter { !excluding.contains($0.key) }
        if !rows.isEmpty { try feed?.accept(.rows(rows), table) }
    }

    /// Receives an object without its row, or with the location at which it was read. Returns false when no more objects are needed.
    func accept(_ reference: ObjectReference, at location: RowLocation? = nil) -> Bool {
        if excluding.contains(reference.key) { return true }
        return acceptUnread(reference, location.map(RowHint.init))
    }

    /// The number of objects that the sink still needs, if it takes the next ones as they come; nil otherwise.
    var freePlaces: Int? {
        guard case .collect = mode, excluding.isEmpty, let neededCount else { return nil }
        return max(neededCount - rows.count, 0)
    }

    /// Receives objects of one entity without their rows, at most `freePlaces`.
    func accept(_ keys: [UInt64], of entityIndex: Int32) { rows.append(keys, entityIndex) }

    private func acceptUnread(_ reference: ObjectReference, _ hint: RowHint?) -> Bool {
        if case .count = mode {
            count += 1
            return true
        }
        rows.append(reference, hint)
        return !hasEnoughRows
    }

    // MARK: The result

    /// The rows in the order of the results. There can be more than `neededCount`; the caller removes the rest.
    func finish() -> ResultSet {
        if let sorter { return sorter.finish() }
        rows.dropPartialHints()
        if case .collectByKey = mode { rows.sortByKey() }
        return rows
    }
}
