internal import HornbeamEngine
internal import HornbeamModel

/// Executes kept plans over one index without a plan, an execution and a sink, which cost more than a fetch of a few rows.
extension StoreSnapshot {
    /// The first results of a request by a plan that `isDirect`; nil if the request must be planned.
    func fetchDirectly(_ request: FetchDescription, by kept: KeptPlan) throws -> FetchAnswer? {
        let context = FilterContext(self)
        return try context.run { () throws(EngineError) in
            switch kept.path {
            case .equal(let index, let position):
                guard let key = kept.key(request, at: position, of: index, in: self) else { return nil }
                let keys = try engineSnapshot.index(index.tree).suffixes(startingWith: key, most: kept.workMax + 1)
                guard keys.count <= kept.workMax else { return nil }
                return try answer(request, kept, keys, context)
            case .index(let index, _):
                guard let range = try kept.range(request, of: index, in: self) else { return nil }
                return try walk(range, of: index, request, kept, context)
            case .lookUp, .members, .union: return nil
            }
        }
    }

    /// The objects of some ascending keys that satisfy the other conditions.
    private func answer(
        _ request: FetchDescription, _ kept: KeptPlan, _ keys: [UInt64], _ context: FilterContext
    ) throws(EngineError) -> FetchAnswer {
        let table = kept.plan.tables[0]
        var rows = ResultSet(keys, of: table.index)
        if !kept.isExact, !keys.isEmpty {
            let filter = try kept.residualFilters(request, self)[Int(table.index)] ?? .constant(true)
            var passing = PassingRows()
            try view(table).forEachRow(keys) { (position, row, location) throws(EngineError) -> Bool in
                if try filter.holds(row, keys[position], table, context) { passing.append(keys[position], location) }
                return true
            }
            rows = ResultSet(passing.keys, of: table.index, passing.hints)
        }
        let rowsRead = (kept.isExact ? 0 : keys.count) + context.rowsRead
        rows.keep(request.window.range(of: rows.count))
        return FetchAnswer(rows: rows, work: FetchWork(kept, for: request, in: self, entries: keys.count, rowsRead: rowsRead))
    }

    /// The first objects of a range in the order of the index that satisfy the other conditions; nil if too many do not.
    private func walk(
        _ range: KeyRange, of index: ValueIndex, _ request: FetchDescription, _ kept: KeptPlan, _ context: FilterContext
    ) throws(EngineError) -> FetchAnswer? {
        let window = request.window
        let view = try engineSnapshot.index(index.tree)
        guard !kept.isExact else {
            let keys = try view.suffixes(in: range, most: window.end ?? .max)
            var rows = ResultSet(keys, of: index.onlyEntity)
            rows.keep(window.range(of: rows.count))
            return FetchAnswer(rows: rows, work: FetchWork(kept, for: request, in: self, entries: keys.count, rowsRead: 0))
        }
        let table = kept.plan.tables[0]
        let cells = cells(table)
        let filter = try kept.residualFilters(request, self)[Int(table.index)] ?? .constant(true)
        var passing = PassingRows()
        var rowsRead = 0
        try view.forEachSuffix(in: range) { (key) throws(EngineError) -> Bool in
            rowsRead += 1
            guard rowsRead <= kept.workMax else { return false }
            var location = RowLocation()
            var passes = false
            _ = try cells.readRow(key, at: &location) { (row) throws(EngineError) in passes = try filter.holds(row, key, table, context) }
            if passes { passing.append(key, location) }
            return passing.keys.count < window.end ?? .max
        }
        guard rowsRead <= kept.workMax else { return nil }
        var rows = ResultSet(passing.keys, of: table.index, passing.hints)
        rows.keep(window.range(of: rows.count))
        let work = FetchWork(kept, for: request, in: self, entries: rowsRead, rowsRead: rowsRead + context.rowsRead)
        return FetchAnswer(rows: rows, work: work)
    }
}

/// Rows that satisfy a filter, with their locations.
private struct PassingRows {
    private(set) var keys: [UInt64] = []
    private(set) var hints: [RowHint] = []

    mutating func append(_ key: UInt64, _ location: RowLocation) {
        keys.append(key)
        hints.append(RowHint(location))
    }
}
