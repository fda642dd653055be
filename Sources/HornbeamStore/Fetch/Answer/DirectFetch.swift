internal import HornbeamEngine
package import HornbeamModel

/// Executes a kept plan over one index of one entity in one snapshot, without a plan, an execution and a sink, which cost more than a fetch of a
/// few rows.
///
/// A context keeps it for further requests of the shape until it switches to another snapshot. It reuses its arrays, the last range and the last
/// filter.
package final class DirectFetch {
    private enum Search {
        /// The entries that begin with the constant at a position.
        case prefix(position: Int)
        /// A range of entries, in the order of the results.
        case range
    }

    private let kept: KeptPlan
    private let search: Search
    private let snapshot: StoreSnapshot
    private let index: ValueIndex
    private let entries: IndexReader
    private let table: EntityTable
    private var context: FilterContext
    // A fetch changes them one after the other and calls nothing that could use them meanwhile, so the check of exclusive access is omitted: it took a
    // twentieth of the instructions of a fetch.

    /// The constants of the conditions of the request.
    @safe @exclusivity(unchecked) private var constants: [PropertyValue] = []
    @safe @exclusivity(unchecked) private var key: [UInt8] = []
    @safe @exclusivity(unchecked) private var keys: [UInt64] = []
    @safe @exclusivity(unchecked) private var hints: [RowHint] = []
    @safe @exclusivity(unchecked) private var passing: [UInt64] = []
    /// The range for the constants of an earlier request.
    private var lastRange: (constants: [PropertyValue], range: KeyRange)?
    /// The filter of the conditions that the index does not satisfy, for their constants in an earlier request.
    private var lastFilter: (constants: [PropertyValue], filter: Filter)?

    /// Nil for a plan of another kind.
    init?(_ kept: KeptPlan, in snapshot: StoreSnapshot) throws(EngineError) {
        guard kept.isDirect else { return nil }
        switch kept.path {
        case .lookUp(let index): (search, self.index) = (.prefix(position: 0), index)
        case .equal(let index, let position): (search, self.index) = (.prefix(position: position), index)
        case .index(let index, _): (search, self.index) = (.range, index)
        case .members, .union: return nil
        }
        self.kept = kept
        self.snapshot = snapshot
        entries = IndexReader(try snapshot.engineSnapshot.index(index.tree))
        table = kept.plan.tables[0]
        context = FilterContext(snapshot)
    }

    /// The entity of all results.
    package var entityIndex: Int32 { table.index }

    /// The results of a request of the shape; nil if the request must be planned.
    package func find(_ request: FetchDescription) throws -> DirectResult? {
        let context = context
        do {
            return try context.run { () throws(EngineError) in
                if kept.constantCount == 1, case .prefix = search {
                    guard let value = request.onlyConstant else { return nil }
                    return try findEntries(of: value, request)
                }
                request.copyConstants(to: &constants)
                guard constants.count == kept.constantCount else { return nil }
                return switch search {
                case .prefix(let position): try findEntries(of: constants[position], request)
                case .range: try findPage(request)
                }
            }
        } catch {
            // The context holds the error.
            self.context = FilterContext(snapshot)
            throw error
        }
    }

    func answer(_ request: FetchDescription) throws -> FetchAnswer? {
        guard let result = try find(request) else { return nil }
        return FetchAnswer(rows: ResultSet(result.keys, of: table.index, result.hints), work: work(request, result))
    }

    func countAnswer(_ request: FetchDescription) throws -> CountAnswer? {
        guard let result = try find(request) else { return nil }
        return CountAnswer(count: result.keys.count, work: work(request, result))
    }

    private func work(_ request: FetchDescription, _ result: DirectResult) -> FetchWork {
        guard case .lookUp = kept.path else {
            return FetchWork(kept, for: request, in: snapshot, entries: result.entryCount, rowsRead: result.rowsRead)
        }
        return FetchWork(DirectLookup(entity: kept.plan.entity, index: index, count: result.entryCount))
    }

    // MARK: Equality

    private func findEntries(of value: PropertyValue, _ request: FetchDescription) throws(EngineError) -> DirectResult? {
        guard !value.isNull, index.setLookupKey(&key, value, origins: snapshot.reader.origins),
            try entries.findSuffixes(startingWith: key, most: kept.workMax, into: &keys)
        else { return nil }
        hints.removeAll(keepingCapacity: true)
        let entryCount = keys.count
        guard !kept.isExact, entryCount > 0 else { return result(request, entryCount, rowsRead: 0) }
        let rowsRead = context.rowsRead
        try keepPassing(try filter(request))
        return result(request, entryCount, rowsRead: entryCount + context.rowsRead - rowsRead)
    }

    /// Removes the keys of rows that do not satisfy a filter. The keys ascend.
    private func keepPassing(_ filter: Filter) throws(EngineError) {
        passing.removeAll(keepingCapacity: true)
        try snapshot.view(table).forEachRow(keys) { (position, row, location) throws(EngineError) -> Bool in
            guard try filter.holds(row, keys[position], table, context) else { return true }
            passing.append(keys[position])
            hints.append(RowHint(location))
            return true
        }
        swap(&keys, &passing)
    }

    // MARK: Pages

    private func findPage(_ request: FetchDescription) throws(EngineError) -> DirectResult? {
        guard let range = try range(request) else { return nil }
        hints.removeAll(keepingCapacity: true)
        let most = request.window.end ?? .max
        guard !kept.isExact else {
            try entries.findSuffixes(in: range, most: most, into: &keys)
            return result(request, keys.count, rowsRead: 0)
        }
        let rowsReadBefore = context.rowsRead
        guard let rowsRead = try findPassing(range, most, try filter(request)) else { return nil }
        return result(request, rowsRead, rowsRead: rowsRead + context.rowsRead - rowsReadBefore)
    }

    /// Finds the first rows of a range that satisfy a filter. Returns the number of rows read; nil if too many do not satisfy it.
    private func findPassing(_ range: KeyRange, _ most: Int, _ filter: Filter) throws(EngineError) -> Int? {
        let cells = snapshot.cells(table)
        var rowsRead = 0
        // The location of the row before: entries with near values often have rows with near keys.
        var location = RowLocation()
        keys.removeAll(keepingCapacity: true)
        keys.reserveCapacity(min(most, Self.reservedMax))
        hints.reserveCapacity(min(most, Self.reservedMax))
        try entries.forEachSuffix(in: range) { (key) throws(EngineError) -> Bool in
            rowsRead += 1
            guard rowsRead <= kept.workMax else { return false }
            var passes = false
            _ = try cells.readRow(key, at: &location) { (row) throws(EngineError) in passes = try filter.holds(row, key, table, context) }
            if passes {
                keys.append(key)
                hints.append(RowHint(location))
            }
            return keys.count < most
        }
        return rowsRead <= kept.workMax ? rowsRead : nil
    }

    private static let reservedMax = 128

    private func range(_ request: FetchDescription) throws(EngineError) -> KeyRange? {
        if let lastRange, lastRange.constants == constants { return lastRange.range }
        guard let range = try kept.range(constants, of: index, in: snapshot) else { return nil }
        lastRange = (constants, range)
        return range
    }

    // MARK: The result

    private func filter(_ request: FetchDescription) throws(EngineError) -> Filter {
        if let lastFilter, kept.hasResidualConstants(constants, lastFilter.constants) { return lastFilter.filter }
        let filter = try kept.residualFilters(request, snapshot)[Int(table.index)] ?? .constant(true)
        lastFilter = (constants, filter)
        return filter
    }

    private func result(_ request: FetchDescription, _ entryCount: Int, rowsRead: Int) -> DirectResult {
        let isWhole = request.fetchOffset == 0 && (request.fetchLimit == 0 || keys.count <= request.fetchLimit)
        guard !isWhole else { return DirectResult(keys: keys, hints: hints, entryCount: entryCount, rowsRead: rowsRead) }
        let window = request.window.range(of: keys.count)
        return DirectResult(
            keys: Array(keys[window]), hints: hints.isEmpty ? [] : Array(hints[window]), entryCount: entryCount, rowsRead: rowsRead)
    }
}

/// The results of a direct fetch.
package struct DirectResult {
    /// The keys of the objects, in the order of the results.
    package let keys: [UInt64]
    /// The locations of all rows; empty if none was read.
    package let hints: [RowHint]
    let entryCount: Int
    package let rowsRead: Int
}
