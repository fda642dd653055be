// Reads cells of at most eight bytes: of one row, or of several rows in one column.

extension TableCells {
    /// The bits of a cell of at most eight bytes. Nil if the cell is null or cannot be read this way, for example because the location is not valid; then call
    /// `fixedCell`.
    package func plainCell(at location: RowLocation, _ column: Int) -> UInt64? {
        note(column)
        return withCachedRow(at: location) { row in
            if location.hasNeighbours { row.prefetchNeighbour(column) }
            return row.plainCell(column)
        }
    }

    /// A cell of at most eight bytes. Reads the row at its location if that is valid, otherwise by its key, and updates the location.
    package func fixedCell(
        _ key: UInt64, at location: inout RowLocation, _ column: Int
    ) throws(EngineError) -> FixedCell {
        note(column)
        if let cell = withRow(at: location, { $0.fixedCell(column) }) { return cell }
        var cell = FixedCell(.noRow)
        try view.readRow(key, at: &location) { row throws(EngineError) in cell = row.fixedCell(column) }
        return cell
    }

    /// The cells of several rows in one column, of at most eight bytes each, in the order of the keys; nil if a row cannot be found.
    package func fixedCells(_ keys: [UInt64], _ column: Int) throws(EngineError) -> [FixedCell]? {
        note(column)
        var cells: [FixedCell] = []
        cells.reserveCapacity(keys.count)
        var places: [FixedCellPlace] = []
        places.reserveCapacity(min(keys.count, TreeWalk.leavesPerEpoch))
        var start = 0
        while start < keys.count {
            let end = min(start + TreeWalk.leavesPerEpoch, keys.count)
            let epoch = unsafe pool._withUnsafeGuaranteedRef { $0.epochs.enter() }
            defer { unsafe pool._withUnsafeGuaranteedRef { $0.epochs.leave(epoch) } }
            guard try readCells(keys[start..<end], column, &places, &cells) else { return nil }
            start = end
        }
        return cells
    }

    /// Reads the cells of some rows inside an epoch. Finds and prefetches all of them first, so that the cache misses of different rows overlap.
    private func readCells(
        _ keys: ArraySlice<UInt64>, _ column: Int, _ places: inout [FixedCellPlace], _ cells: inout [FixedCell]
    ) throws(EngineError) -> Bool {
        let isExpired = view.root.isExpired
        func readPlaces() {
            for place in places { cells.append(place.cell) }
            places.removeAll(keepingCapacity: true)
        }
        for key in keys {
            if !isExpired, let place = unsafe pool._withUnsafeGuaranteedRef({ hintedRow($0, key).flatMap { FixedCellPlace($0, column) } }) {
                places.append(place)
                continue
            }
            var location = RowLocation()
            guard try find(key, at: &location), let row = withRow(at: location, { $0 }) else { return false }
            if let place = FixedCellPlace(row, column) {
                places.append(place)
            } else {
                readPlaces()
                cells.append(row.fixedCell(column))
            }
        }
        readPlaces()
        return true
    }
}
