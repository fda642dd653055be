internal import HornbeamEngine
internal import HornbeamModel

/// Executes a plan: walks the access path, applies the filters, passes rows to the sink.
///
/// A class, because the closures of walks would copy a structure for each entry.
final class FetchExecution {
    private(set) var plan: FetchPlan
    let snapshot: StoreSnapshot
    let context: FilterContext
    let sink: ResultSink
    private(set) var rowsRead = 0
    private(set) var leavesRead = 0
    /// The number of entries, or of rows of an ordered walk, after which the execution stops.
    let workMax: Int
    /// True if the execution stopped at `workMax`, so that its results are incomplete.
    private(set) var isStopped = false
    /// The last key of a scan that ended because it had read the maximum number of leaves.
    private(set) var lastKey: UInt64?

    init(_ plan: FetchPlan, _ snapshot: StoreSnapshot, _ context: FilterContext, _ sink: ResultSink, workMax: Int = .max) {
        self.plan = plan
        self.snapshot = snapshot
        self.context = context
        self.sink = sink
        self.workMax = workMax
    }

    func run() throws(EngineError) {
        switch plan.choice.path {
        case .nothing: return
        case .scan: try scan()
        case .keys(let keys, _): try lookUp(keys)
        case .index(let access) where access.order != nil: try walkInOrder(access)
        case .members(let link, let owners, _) where owners.count == 1 && sink.isFeeding && workMax == .max && plan.tables.count == 1:
            if let keys = try memberKeys(of: owners[0], link) { return try feed(keys, plan.tables[0]) }
            try finish(try objects(plan.choice.path))
        case .members, .index, .intersection, .union:
            let found = try objects(plan.choice.path)
            isStopped = found.count > workMax
            if workMax < .max { plan.choice.entries = found.count }
            if !isStopped { try finish(found) }
        }
    }

    func filter(_ entityIndex: Int32) -> Filter { plan.filters[Int(entityIndex)] ?? .constant(true) }

    func isRequested(_ reference: ObjectReference) -> Bool { plan.isRequested[Int(reference.entityIndex)] }

    func stop() { isStopped = true }

    func count(rows: Int, leaves: Int = 0) {
        rowsRead += rows
        leavesRead += leaves
    }

    // MARK: Scan

    private func scan() throws(EngineError) {
        let window = try keyWindow()
        for table in plan.tables {
            let parts = window.isOpen ? try parts(of: table) : [window]
            if parts.count > 1 {
                try scan(table, parts: parts)
            } else if try !scan(table, window) {
                return
            }
        }
    }

    /// Passes the rows of a table that are in a window to the sink. Returns false when the sink needs no more rows of any table.
    ///
    /// - Parameters:
    ///   - isPart: True for one of the windows that together are the whole table.
    ///   - leavesMax: The number of leaves after which the scan ends, and sets `lastKey` to a key in the window.
    @discardableResult
    func scan(_ table: EntityTable, _ window: KeyWindow, isPart: Bool = false, leavesMax: Int = .max) throws(EngineError) -> Bool {
        let filter = filter(table.index)
        var rows = 0
        var leaves = 0
        var selection = Selection(none: 0)
        var isDone = false
        // The pages of a short window are probably read again, for its objects or for the next window. So they are loaded into the pool.
        let isWhole = (isPart || window.isOpen) && leavesMax == .max
        let columns = isWhole && sink.readsAll ? [filter.onlyColumns, sink.onlyColumns(of: table)].union : nil
        try snapshot.view(table).forEachLeaf(from: window.first, prefetching: filter.leafColumns, readsOnly: columns) { (leaf) throws(EngineError) -> Bool in
            rows += leaf.count
            leaves += 1
            selection.reset(all: leaf.count)
            window.narrow(&selection, leaf)
            try filter.narrow(&selection, leaf, table, context)
            try context.reportProgress(selection.selectedCount)
            isDone = try !sink.accept(&selection, leaf, table)
            guard !isDone, !window.ends(in: leaf) else { return false }
            // The first leaf can be before the window. A scan that ended there would begin with the same window again.
            guard leaves >= leavesMax, leaf.count > 0, case let last = leaf.key(leaf.count - 1), last < .max, last >= window.first ?? 0 else { return true }
            lastKey = last
            return false
        }
        count(rows: rows, leaves: leaves)
        return !isDone
    }

    // MARK: Keys

    private func lookUp(_ keys: [UInt64]) throws(EngineError) {
        for table in plan.tables { try read(keys, table) }
    }

    /// Reads rows by ascending keys, applies the filter, and passes matching rows to the sink.
    private func read(_ keys: [UInt64], _ table: EntityTable) throws(EngineError) {
        if sink.isFeeding { return try feed(keys, table) }
        let filter = filter(table.index)
        var rows = 0
        try snapshot.view(table).forEachRow(keys) { (position, row, location) throws(EngineError) -> Bool in
            rows += 1
            if rows & 63 == 0 { try context.reportProgress(64) }
            let key = keys[position]
            guard try filter.holds(row, key, table, context) else { return true }
            return try sink.accept(row, key, location, table)
        }
        count(rows: rows)
    }

    /// Reads rows by ascending keys, applies the filter, and passes up to `batchMax` matching rows at a time to the sink.
    private func feed(_ keys: [UInt64], _ table: EntityTable) throws(EngineError) {
        let filter = filter(table.index)
        var batch: [RowView] = []
        batch.reserveCapacity(min(keys.count, Self.batchMax))
        var rows = 0
        try snapshot.view(table).forEachRow(keys) { (position, row, _) throws(EngineError) -> Bool in
            rows += 1
            guard try filter.holds(row, keys[position], table, context) else { return true }
            batch.append(row)
            if batch.count == Self.batchMax { try pass(&batch, table) }
            return true
        } endOfPart: { () throws(EngineError) in
            try pass(&batch, table)
        }
        count(rows: rows)
    }

    private func pass(_ batch: inout [RowView], _ table: EntityTable) throws(EngineError) {
        try context.reportProgress(batch.count)
        try sink.accept(batch, table)
        batch.removeAll(keepingCapacity: true)
    }

    private static let batchMax = 64

    // MARK: Sets of objects

    /// The keys of the members of one owner, ascending; nil if they may have several entities, or not the one of the fetch.
    private func memberKeys(of owner: UInt64, _ link: LinkIndex) throws(EngineError) -> [UInt64]? {
        let reader = try snapshot.members(link.relationship)
        guard reader.onlyEntity == plan.tables[0].index else { return nil }
        let keys = try reader.keys(owner: owner)
        return reader.order == nil ? keys : keys.sorted()
    }

    /// The objects of a path, ascending and distinct.
    private func objects(_ path: AccessPath) throws(EngineError) -> [ObjectReference] {
        switch path {
        case .nothing, .scan: return []
        case .keys(let keys, _):
            var found: [ObjectReference] = []
            for table in plan.tables {
                try snapshot.view(table).forEachRow(keys) { (position, _, _) throws(EngineError) -> Bool in
                    found.append(ObjectReference(entityIndex: table.index, key: keys[position]))
                    return true
                }
            }
            return found.sorted()
        case .members(let link, let owners, _):
            let reader = try snapshot.members(link.relationship)
            var found: [ObjectReference] = []
            for owner in owners {
                if let entity = reader.onlyEntity, entity >= 0 {
                    guard plan.isRequested[Int(entity)], found.count <= workMax else { continue }
                    let most = workMax == .max ? Int.max : workMax + 1 - found.count
                    found += try reader.references(owner: owner, limit: most)
                    continue
                }
                try reader.forEach(owner: owner) { member in
                    if isRequested(member) { found.append(member) }
                    return found.count <= workMax
                }
            }
            return ObjectSet.ascending(found)
        case .index(let access): return ObjectSet.ascending(try entries(access))
        case .intersection(let parts):
            var result: [ObjectReference]?
            for part in parts where result?.isEmpty != true {
                let next = try objects(part.path)
                result = result.map { ObjectSet.intersection($0, next) } ?? next
            }
            return result ?? []
        case .union(let parts):
            var all: [ObjectReference] = []
            for part in parts { all += try objects(part.path) }
            return ObjectSet.ascending(all)
        }
    }

    private func entries(_ access: IndexAccess) throws(EngineError) -> [ObjectReference] {
        let view = try snapshot.engineSnapshot.index(access.index.tree)
        var found: [ObjectReference] = []
        if access.index.endsKeysWithObjects {
            guard isRequested(access.index.onlyObject(0)) else { return [] }
            for range in access.ranges where found.count <= workMax {
                // One more than the limit, to see that there are more.
                let most = workMax == .max ? Int.max : workMax + 1 - found.count
                let objects = try access.index.objects(in: range, of: view, schema: snapshot.schema, most: most)
                if found.isEmpty { found = objects } else { found += objects }
            }
            return found
        }
        for range in access.ranges where found.count <= workMax {
            try access.index.forEachObject(in: range, of: view, schema: snapshot.schema) { reference in
                if isRequested(reference) { found.append(reference) }
                return found.count <= workMax
            }
        }
        return found
    }

    /// Passes the objects to the sink. Reads their rows if a filter or the sink needs them.
    private func finish(_ found: [ObjectReference]) throws(EngineError) {
        guard !plan.isExact || sink.needsRows else {
            for reference in found where !sink.accept(reference) { return }
            return
        }
        for table in plan.tables {
            try read(found.filter { $0.entityIndex == table.index }.map(\.key), table)
        }
    }
}

extension FetchPlan {
    /// The form of the results.
    var mode: ResultSink.Mode {
        if choice.isOrdered { return .collect }
        return sorts.isEmpty ? .collectByKey : .sort(sorts)
    }
}
