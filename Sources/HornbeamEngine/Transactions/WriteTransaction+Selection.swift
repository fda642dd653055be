// Changes many rows that a scan has selected. Each leaf is rebuilt once. The redo record contains the selection and the change, not the new
// values. When the new leaves fill half of the pool, they are written early, and the commit writes pages in place of redo.

extension WriteTransaction {
    /// Changes columns of the selected rows. The table must not have changed since the selection. Throws `tooLarge` if new cells make the variable cells of
    /// a row too long for a leaf (`TableView.hasRoom`).
    package func alter(_ rows: RowSelection, by changes: [ColumnChange], in table: TreeID) throws(EngineError) {
        let columns = try layout(of: table).columns
        try require(changes, fit: columns, of: table)
        guard !rows.isEmpty else { return }
        let editor = try editor(table)
        try inParts(of: rows) { leaves throws(EngineError) in
            var sparse: [RewriteRemainder] = []
            for rest in try editor.alter(rows, leaves, changes) {
                // Division changes no other leaf, so the rest of the selection stays valid.
                if rest.isUnfit {
                    try mutate { () throws(EngineError) in try editor.alterRemainder(rest, rows, changes) }
                } else if rest.second != nil {
                    try mutate { () throws(EngineError) in try editor.finish(rest) { editor.joinLeaves($0, $1) } }
                } else {
                    sparse.append(rest)
                }
            }
            return sparse
        } finish: { rest throws(EngineError) in
            try editor.finish(rest) { editor.joinLeaves($0, $1) }
        }
        assert(!isDeferred && !hasFailed, "A change of many rows is executed before it is recorded.")
        redo.alter(table, rows, changes, columns)
    }

    private func require(_ changes: [ColumnChange], fit columns: [Column], of table: TreeID) throws(EngineError) {
        var variable: Set<Int> = []
        for change in changes {
            let column = columns[change.column]
            let fits =
                switch change {
                case .add: (1...8).contains(column.kind.width)
                case .set where column.kind == .bytes: variable.insert(change.column).inserted
                case .set(_, let cell): cell.map { $0.count == (column.kind == .bit ? 1 : column.kind.width) } ?? true
                }
            guard fits else {
                throw EngineError(.tooLarge, "A change of column \(column.id) of table \(table) does not fit its width, or sets it a second time.")
            }
        }
    }

    /// Deletes the selected rows. The table must not have changed since the selection.
    package func delete(_ rows: RowSelection, from table: TreeID) throws(EngineError) {
        _ = try layout(of: table)
        let editor = try editor(table)
        guard !rows.isEmpty else { return }
        try inParts(of: rows) { leaves throws(EngineError) in
            try editor.delete(rows, leaves)
        } finish: { rest throws(EngineError) in
            if rest.isUnfit {
                _ = try editor.delete(rows.keys(of: rows.leaves[rest.changes.lowerBound]))
            } else {
                try editor.finish(rest) { editor.joinLeaves($0, $1) }
            }
        }
        assert(!isDeferred && !hasFailed, "A change of many rows is executed before it is recorded.")
        redo.deleteRows(table, rows)
    }

    // MARK: Memory

    /// Calls `body` with one part of a selection's leaves after the other, and then `finish` with each leaf that it returns, empty leaves first: they still
    /// have their old content, and no neighbour must be merged with it. Writes leaves of the transaction between.
    private func inParts(
        of rows: RowSelection, _ body: (Range<Int>) throws(EngineError) -> [RewriteRemainder], finish: (RewriteRemainder) throws(EngineError) -> Void
    ) throws(EngineError) {
        var rest: [RewriteRemainder] = []
        for start in stride(from: 0, to: rows.leafCount, by: leavesInPart) {
            try beginPart()
            try mutateInSteps { () throws(EngineError) in rest += try body(start..<min(start + leavesInPart, rows.leafCount)) }
        }
        for rest in rest.filter(\.isEmpty) + rest.filter({ !$0.isEmpty }) {
            try beginPart()
            try mutate { () throws(EngineError) in try finish(rest) }
        }
    }

    /// Of two new frames for each leaf, all parts together fill less than the half of the pool at which leaves are written.
    private var leavesInPart: Int { max(1, ledger.pool.capacity / 16) }

    /// Writes the leaves of the transaction if they fill half of the pool. The commit then writes pages in place of redo.
    private func beginPart() throws(EngineError) {
        try applyDeferred()
        if ledger.unwritten >= unwrittenMax, ended.isEmpty, !redo.isAbandoned { redo.abandon() }
        try writeLeavesEarly()
    }

    // MARK: Index entries

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
        var next: [UInt8]? = []
        while let start = next {
            try beginPart()
            try mutateInSteps { () throws(EngineError) in
                let (rest, end) = try editor.deleteEntries(of: keys, at: place, from: start, leavesMax: leavesInPart)
                for rest in rest {
                    try mutate { () throws(EngineError) in
                        try editor.finish(rest) { editor.joinSlotted($0, $1, separator: nil) }
                    }
                }
                next = end
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
