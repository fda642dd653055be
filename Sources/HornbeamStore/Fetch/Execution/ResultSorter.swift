internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// Sorts the rows of a fetch by criteria: all rows, or only the first ones of the order.
///
/// A single criterion on a column of numbers compares numbers. Other criteria compare key bytes, which sort like the values. If only the
/// first rows are needed, a heap contains them, and rows of a leaf that sort after the heap's last entry are filtered out first.
final class ResultSorter {
    private let neededCount: Int?
    private var numbers: Sorted<NumberKey>?
    private var bytes: Sorted<BytesKey>?
    private let sorts: [SortKey]
    private let context: FilterContext
    private var key = IndexKey()

    init(_ sorts: [SortKey], neededCount: Int?, context: FilterContext) {
        self.sorts = sorts
        self.neededCount = neededCount
        self.context = context
        if sorts.count == 1, NumberKey.supports(sorts[0]) {
            numbers = Sorted(neededCount: neededCount)
        } else {
            bytes = Sorted(neededCount: neededCount)
        }
    }

    // MARK: Adding rows

    func accept(_ selection: inout Selection, _ leaf: LeafView, _ table: EntityTable) throws(EngineError) {
        if numbers != nil { narrow(&selection, leaf, table) }
        _ = try selection.forEach { (slot) throws(EngineError) -> Bool in
            try accept(leaf.row(slot), leaf.key(slot), leaf.location(slot), table)
            return true
        }
    }

    /// The columns of scanned leaves that the sorter reads, in the form of `Filter.onlyColumns`.
    func onlyColumns(of table: EntityTable) -> UInt64? { numbers == nil ? nil : table.column(sorts[0].path[0]).onlyColumns }

    /// When the heap is full, deselects the rows that sort after its last entry.
    private func narrow(_ selection: inout Selection, _ leaf: LeafView, _ table: EntityTable) {
        guard let lastKey = numbers?.lastKey, !lastKey.isNull else { return }
        let column = table.column(sorts[0].path[0])
        lastKey.test(column, isAscending: sorts[0].isAscending)?.narrow(&selection, leaf)
    }

    func accept(_ row: RowView, _ objectKey: UInt64, _ location: RowLocation, _ table: EntityTable) throws(EngineError) {
        let result = ResultRow(
            reference: ObjectReference(entityIndex: table.index, key: objectKey), hint: RowHint(location))
        if numbers != nil {
            let column = table.column(sorts[0].path[0])
            numbers?.insert(NumberKey(row, column, isAscending: sorts[0].isAscending), result)
        } else {
            key.reset()
            for sort in sorts { try sort.append(row, of: table, to: &key, context) }
            bytes?.insert(BytesKey(bytes: key.bytes), result)
        }
    }

    /// Adds the rows of another sorter with the same criteria.
    func add(_ other: ResultSorter) {
        if let found = other.numbers { numbers?.add(found) }
        if let found = other.bytes { bytes?.add(found) }
    }

    func finish() -> ResultSet {
        let results = numbers?.finished ?? bytes?.finished ?? []
        return ResultSet(results.map(\.reference), results.map(\.hint))
    }
}

/// A number of any column type, mapped to an unsigned integer that sorts in the requested direction.
struct NumberKey: Comparable {
    /// Nulls sort before all values, or after them in descending order.
    private let rank: UInt8
    private let order: UInt64

    static func supports(_ sort: SortKey) -> Bool {
        guard sort.path.count == 1 else { return false }
        switch sort.path[0].cellType {
        case .int16, .int32, .int64, .double, .float, .date: return true
        default: return false
        }
    }

    init(_ row: RowView, _ column: StoredColumn, isAscending: Bool) {
        guard !row.isNull(column.column) else {
            rank = isAscending ? 0 : 2
            order = 0
            return
        }
        rank = 1
        let ascending: UInt64
        switch column.type {
        case .double, .date, .float: ascending = KeyBytes.ordered(column.double(in: row))
        default: ascending = UInt64(bitPattern: column.int(in: row)) ^ 1 << 63
        }
        order = isAscending ? ascending : ~ascending
    }

    /// The key of a computed number; nil for null.
    init(_ number: Int64?, isAscending: Bool) {
        rank = number == nil ? (isAscending ? 0 : 2) : 1
        let ascending = number.map { UInt64(bitPattern: $0) ^ 1 << 63 } ?? 0
        order = isAscending || number == nil ? ascending : ~ascending
    }

    static func < (a: NumberKey, b: NumberKey) -> Bool {
        a.rank == b.rank ? a.order < b.order : a.rank < b.rank
    }

    var isNull: Bool { rank != 1 }

    /// A test for the cells that do not sort after this number; nil when all cells pass.
    func test(_ column: StoredColumn, isAscending: Bool) -> RangeTest? {
        let ascending = isAscending ? order : ~order
        let bounds: RangeTest.Bounds
        var isNegated = false
        switch column.type {
        case .double, .date, .float:
            let number = KeyBytes.double(ordered: ascending)
            // NaN sorts first and is in no range. In ascending order it must pass, so the test is negated.
            if isAscending, number == .infinity { return nil }
            if number.isNaN, !isAscending { return nil }
            isNegated = isAscending
            bounds = isAscending ? .double(number.isNaN ? -.infinity : number.nextUp, .infinity) : .double(number, .infinity)
        default:
            let number = Int64(bitPattern: ascending ^ 1 << 63)
            let all = NumberBounds.all(column.type)
            bounds = all.intersection(isAscending ? .int(.min, number) : .int(number, .max))
        }
        return RangeTest(
            column: column.column, type: column.type, bounds: bounds, isNegated: isNegated, nullResult: isAscending)
    }
}

/// The key bytes of several criteria, concatenated.
struct BytesKey: Comparable {
    let bytes: [UInt8]

    static func < (a: BytesKey, b: BytesKey) -> Bool {
        unsafe a.bytes.withUnsafeBytes { x in
            unsafe b.bytes.withUnsafeBytes { y in
                let common = min(x.count, y.count)
                let difference = unsafe common == 0 ? 0 : memcmp(x.baseAddress!, y.baseAddress!, common)
                return difference == 0 ? x.count < y.count : difference < 0
            }
        }
    }
}

/// Entries sorted by key, then by object key: all entries, or the first ones in a heap with the last of them at its top.
struct Sorted<Key: Comparable & SendableMetatype> {
    private var entries: [(key: Key, result: ResultRow)] = []
    private let neededCount: Int?

    init(neededCount: Int?) { self.neededCount = neededCount }

    /// The key of the heap's last entry; nil until the heap is full.
    var lastKey: Key? {
        guard let neededCount, neededCount > 0, entries.count == neededCount else { return nil }
        return entries[0].key
    }

    @inline(__always)
    private static func isBefore(_ a: (key: Key, result: ResultRow), _ b: (key: Key, result: ResultRow)) -> Bool {
        if a.key < b.key { return true }
        if b.key < a.key { return false }
        return a.result.reference.key < b.result.reference.key
    }

    mutating func insert(_ key: Key, _ result: ResultRow) {
        guard let neededCount else { return entries.append((key, result)) }
        guard neededCount > 0 else { return }
        let entry = (key: key, result: result)
        if entries.count < neededCount {
            entries.append(entry)
            siftUp()
        } else if Self.isBefore(entry, entries[0]) {
            entries[0] = entry
            siftDown()
        }
    }

    mutating func add(_ other: Sorted) {
        for entry in other.entries { insert(entry.key, entry.result) }
    }

    private mutating func siftUp() {
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard Self.isBefore(entries[parent], entries[child]) else { return }
            entries.swapAt(parent, child)
            child = parent
        }
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            var largest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
                if Self.isBefore(entries[largest], entries[child]) { largest = child }
            }
            guard largest != parent else { return }
            entries.swapAt(parent, largest)
            parent = largest
        }
    }

    /// The results in their order.
    var finished: [ResultRow] { entries.sorted(by: Self.isBefore).map(\.result) }
}
