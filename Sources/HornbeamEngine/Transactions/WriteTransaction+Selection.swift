// Changes many rows of a table that a scan selected: each leaf is rebuilt once, and the log gets the selection and the change, not the
// values.

extension WriteTransaction {
    /// Changes columns of the selected rows. The table must not have changed since the selection.
    package func alter(_ rows: RowSelection, by changes: [ColumnChange], in table: TreeID) throws(EngineError) {
        let columns = try layout(of: table).columns
        for change in changes { try require(change, fits: columns[change.column], of: table) }
        guard !rows.isEmpty else { return }
        let editor = try editor(table)
        try inSteps { () throws(EngineError) in
            // Leaves that were sparse before stay sparse.
            for rest in try editor.alter(rows, changes) where rest.isUnfit {
                try mutate { () throws(EngineError) in try editor.alterUnfit(rest, rows, changes) }
            }
        }
        assert(!isDeferred && !hasFailed, "A change of many rows is executed before it is recorded.")
        redo.alter(table, rows, changes, columns)
    }

    private func require(_ change: ColumnChange, fits column: Column, of table: TreeID) throws(EngineError) {
        let fits =
            switch change {
            case .add: (1...8).contains(column.kind.width)
            case .set(_, let cell): cell.map { $0.count == (column.kind == .bit ? 1 : column.kind.width) } ?? true
            }
        if fits, column.kind != .bytes { return }
        throw EngineError(.tooLarge, "A change of column \(column.id) of table \(table) does not fit its width.")
    }

    /// Deletes the selected rows. The table must not have changed since the selection.
    package func delete(_ rows: RowSelection, from table: TreeID) throws(EngineError) {
        _ = try layout(of: table)
        let editor = try editor(table)
        guard !rows.isEmpty else { return }
        try inSteps { () throws(EngineError) in
            for rest in try editor.delete(rows) {
                try mutate { () throws(EngineError) in
                    if rest.isUnfit {
                        _ = try editor.delete(rows.keys(of: rows.leaves[rest.position]))
                    } else {
                        try editor.finish(rest) { editor.joinLeaves($0, $1) }
                    }
                }
            }
        }
        assert(!isDeferred && !hasFailed, "A change of many rows is executed before it is recorded.")
        redo.deleteRows(table, rows)
    }

    /// Deletes the entries of rows, given by ascending keys, from an index whose entries hold the row's key in one place. Reads the whole index,
    /// which pays when many entries are deleted.
    package func deleteEntries(of rows: [UInt64], at place: RowKeyPlace, from index: TreeID) throws(EngineError) {
        let editor = try editor(index)
        guard !editor.isTable else { throw EngineError(.unknownTree, "Tree \(index) is a table, not an index.") }
        guard !rows.isEmpty else { return }
        assert(zip(rows, rows.dropFirst()).allSatisfy(<=), "Keys of selected rows ascend.")
        let keys = RowKeySet(rows)
        try inSteps { () throws(EngineError) in
            for rest in try editor.deleteEntries(of: keys, at: place) {
                try mutate { () throws(EngineError) in
                    try editor.finish(rest) { editor.joinSlotted($0, $1, separator: nil) }
                }
            }
        }
        redo.deleteEntries(index, place, rows)
    }

    // MARK: Replay

    func replayAlter(_ table: TreeID, _ reader: inout ByteReader) throws(EngineError) {
        let keys = try reader.rowSet()
        let columns = try layout(of: table).columns
        var changes: [ColumnChange] = []
        for _ in 0..<(try reader.integer(UInt8.self)) {
            let id = ColumnID(try reader.integer(UInt32.self))
            guard let column = columns.firstIndex(where: { $0.id == id }) else {
                throw EngineError(.damaged, "The log changes column \(id) of tree \(table), which has no such column.")
            }
            changes.append(try reader.columnChange(column))
        }
        try alter(try self.table(table).selection(of: keys), by: changes, in: table)
    }

    func replayDeleteEntries(_ index: TreeID, _ reader: inout ByteReader) throws(EngineError) {
        let rawPlace = try reader.integer(UInt8.self)
        guard let place = RowKeyPlace(rawValue: rawPlace) else {
            throw EngineError(.damaged, "The log looks for keys of rows at place \(rawPlace), which does not exist.")
        }
        try deleteEntries(of: try reader.rowSet(), at: place, from: index)
    }
}
