// Changes many rows that a scan has selected. Each leaf is rebuilt once. The redo record contains the selection and the change, not the new
// values.

extension WriteTransaction {
    /// Changes columns of the selected rows. The table must not have changed since the selection.
    package func alter(_ rows: RowSelection, by changes: [ColumnChange], in table: TreeID) throws(EngineError) {
        let columns = try layout(of: table).columns
        for change in changes { try require(change, fits: columns[change.column], of: table) }
        guard !rows.isEmpty else { return }
        let editor = try editor(table)
        try mutateInSteps { () throws(EngineError) in
            // Sparse leaves are not merged, since the change does not make leaves emptier.
            for rest in try editor.alter(rows, changes) where rest.isUnfit {
                try mutate { () throws(EngineError) in try editor.alterRemainder(rest, rows, changes) }
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
        try mutateInSteps { () throws(EngineError) in
            for rest in try editor.delete(rows) {
                try mutate { () throws(EngineError) in
                    if rest.isUnfit {
                        _ = try editor.delete(rows.keys(of: rows.leaves[rest.changes.lowerBound]))
                    } else {
                        try editor.finish(rest) { editor.joinLeaves($0, $1) }
                    }
                }
            }
        }
        assert(!isDeferred && !hasFailed, "A change of many rows is executed before it is recorded.")
        redo.deleteRows(table, rows)
    }

    /// Deletes the index entries of the rows with the given keys, which must ascend. `place` is the position of a row's key in each entry. Reads the
    /// whole index, so it is meant for deleting many entries.
    package func deleteEntries(of rows: [UInt64], at place: RowKeyPlace, from index: TreeID) throws(EngineError) {
        let editor = try editor(index)
        guard !editor.isTable else { throw EngineError(.unknownTree, "Tree \(index) is a table, not an index.") }
        guard !rows.isEmpty else { return }
        assert(zip(rows, rows.dropFirst()).allSatisfy(<=), "Keys of selected rows ascend.")
        let keys = RowKeySet(rows)
        if let buffer = editor.insertBuffer { try deleteEntries(of: keys, at: place, from: try self.index(editing: buffer)) }
        try deleteEntries(of: keys, at: place, from: editor)
        redo.deleteEntries(index, place, rows)
    }

    private func deleteEntries(of keys: RowKeySet, at place: RowKeyPlace, from editor: TreeEditor) throws(EngineError) {
        try mutateInSteps { () throws(EngineError) in
            for rest in try editor.deleteEntries(of: keys, at: place) {
                try mutate { () throws(EngineError) in
                    try editor.finish(rest) { editor.joinSlotted($0, $1, separator: nil) }
                }
            }
        }
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
            throw EngineError(.damaged, "The log names position \(rawPlace) of row keys in index entries, which does not exist.")
        }
        try deleteEntries(of: try reader.rowSet(), at: place, from: index)
    }
}
