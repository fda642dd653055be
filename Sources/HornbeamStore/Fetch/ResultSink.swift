internal import HornbeamEngine
internal import HornbeamModel

/// Takes the rows that satisfy a fetch and gives back what was asked for: a count, or references in order.
final class ResultSink {
    enum Mode {
        case count
        /// References in the order in which they come.
        case collect
        /// References in the order of their keys.
        case collectByKey
        case sort([SortKey])
        /// Groups and totals instead of references.
        case feed(GroupFeed)
        /// Rows leaf by leaf, of scans only.
        case select
    }

    private let mode: Mode
    /// How many results are needed; nil for all.
    private var kept: Int?
    /// How many of the first results were left out already, by counting them.
    private(set) var leftOut = 0
    private let context: FilterContext
    private let excluding: Set<UInt64>
    private(set) var count = 0
    private var references: [ObjectReference] = []
    private var hints: [RowHint] = []
    private var sorter: ResultSorter?
    private var feed: GroupFeed?
    /// Selected rows by entity index.
    private(set) var selected: [Int32: RowSelection] = [:]

    init(_ mode: Mode, kept: Int?, excluding: Set<UInt64>, context: FilterContext) {
        self.mode = mode
        self.kept = kept
        self.context = context
        self.excluding = excluding
        switch mode {
        case .sort(let sorts): sorter = ResultSorter(sorts, kept: kept, context: context)
        case .feed(let feed): self.feed = feed
        case .count, .collect, .collectByKey, .select: break
        }
    }

    /// True when rows themselves are needed, not only their keys.
    var needsRows: Bool { sorter != nil || feed != nil }

    /// True when every object that comes is a result.
    var isComplete: Bool { excluding.isEmpty }

    var isCounting: Bool { if case .count = mode { true } else { false } }

    /// True when every row has to come, whatever came before.
    var readsAll: Bool {
        if case .collect = mode { return kept == nil }
        return true
    }

    /// What a row that passes costs here, in the planner's measure.
    var rowCost: Int {
        switch mode {
        case .count, .select: 0
        case .collect, .collectByKey: 2
        case .sort: 4
        case .feed: 8
        }
    }

    // MARK: Parts

    /// True when parts of a table's rows can be taken apart from one another and put together to the same.
    func isDivisible(_ table: EntityTable) -> Bool { feed?.isDivisible(table) ?? true }

    /// A sink for another part of the rows, of so many.
    ///
    /// The room for results is made here, not by the thread that fills it: what the C library's heap of another thread has grown to
    /// stays with the process.
    func sibling(_ context: FilterContext, rows: Int) -> ResultSink {
        var mode = mode
        if let feed { mode = .feed(feed.sibling(context)) }
        let sibling = ResultSink(mode, kept: kept, excluding: excluding, context: context)
        if case .collect = mode {
            sibling.references.reserveCapacity(min(rows, Self.mostReserved))
            sibling.hints.reserveCapacity(min(rows, Self.mostReserved))
        }
        return sibling
    }

    /// Rows that room is made for at once: 16 MiB, of which only what is written takes memory.
    private static let mostReserved = 1 << 20

    /// Takes what a sibling found in rows behind those that came here.
    func add(_ other: ResultSink) {
        count += other.count
        references += other.references
        hints += other.hints
        for (entity, rows) in other.selected { selected[entity, default: RowSelection()].append(rows) }
        if let found = other.sorter { sorter?.add(found) }
        if let groups = other.feed?.groups { feed?.add(groups) }
    }

    /// The first results, which are not going to come.
    func leaveOut(_ number: Int) {
        leftOut += number
        kept = kept.map { $0 - number }
    }

    /// True when no further row can change the answer.
    private var isFull: Bool {
        guard let kept else { return false }
        if case .collect = mode { return references.count >= kept }
        return false
    }

    // MARK: Rows

    /// All selected rows of a leaf, ascending. Answers false when no more are needed.
    func take(
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
            try sorter.take(&selection, leaf, table)
            return true
        }
        if let feed {
            try feed.take(selection, leaf, table)
            return true
        }
        collect(selection, leaf, table)
        return !isFull
    }

    /// Works on local copies of the arrays: each access to a class's own is checked for exclusivity.
    private func collect(_ selection: Selection, _ leaf: LeafView, _ table: EntityTable) {
        var references: [ObjectReference] = []
        var hints: [RowHint] = []
        swap(&references, &self.references)
        swap(&hints, &self.hints)
        _ = selection.forEach { slot in
            references.append(ObjectReference(entityIndex: table.index, key: leaf.key(slot)))
            hints.append(RowHint(leaf.location(slot)))
            return true
        }
        swap(&references, &self.references)
        swap(&hints, &self.hints)
    }

    /// One row. Answers false when no more are needed.
    func take(
        _ row: RowView, _ key: UInt64, _ location: RowLocation, _ table: EntityTable
    ) throws(EngineError) -> Bool {
        if excluding.contains(key) { return true }
        if let sorter {
            try sorter.take(row, key, location, table)
            return true
        }
        if let feed {
            try feed.take(row, key, table)
            return true
        }
        return takeUnread(ObjectReference(entityIndex: table.index, key: key), RowHint(location))
    }

    /// An object whose row need not be read. Answers false when no more are needed.
    func take(_ reference: ObjectReference) -> Bool {
        if excluding.contains(reference.key) { return true }
        return takeUnread(reference, nil)
    }

    private func takeUnread(_ reference: ObjectReference, _ hint: RowHint?) -> Bool {
        if case .count = mode {
            count += 1
            return true
        }
        append(reference, hint)
        return !isFull
    }

    private func append(_ reference: ObjectReference, _ hint: RowHint?) {
        references.append(reference)
        if let hint { hints.append(hint) }
    }

    // MARK: The answer

    /// References and hints in order, the first `kept` at least.
    func finish() -> (references: [ObjectReference], hints: [RowHint]) {
        if let sorter { return sorter.finish() }
        if case .collectByKey = mode { sortByKey() }
        return (references, hints.count == references.count ? hints : [])
    }

    private func sortByKey() {
        if zip(references, references.dropFirst()).allSatisfy({ $0.key < $1.key }) { return }
        guard hints.count == references.count else { return references.sort() }
        let order = references.indices.sorted { references[$0].key < references[$1].key }
        hints = order.map { hints[$0] }
        references = order.map { references[$0] }
    }
}
