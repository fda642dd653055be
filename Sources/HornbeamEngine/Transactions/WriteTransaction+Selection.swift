// Changes many rows that a scan has selected. Each leaf is rebuilt once. The redo record contains the selection and the change, not the new
// values. When the new leaves fill half of the pool, they are written early, and the commit writes pages in place of redo.

extension WriteTransaction {
    /// Changes columns of the selected rows. The table must not have changed since the selection. Throws `tooLarge` if new cells make the variable cells of
    /// a row too long for a leaf (`LeafView.variableBytesMax`); then the transaction can only be aborted.
    package func alter(_ rows: RowSelection, by changes: [ColumnChange], in table: TreeID) throws(EngineError) {
        let columns = try layout(of: table).columns
        try require(changes, fit: columns, of: table)
        guard !rows.isEmpty else { return }
        let editor = try editor(table)
        try inParts(of: rows) { part throws(EngineError) in
            try alter(rows, part, changes, editor)
        } finish: { rest throws(EngineError) in
            try editor.finish(rest) { editor.joinLeaves($0, $1) }
        }
        redo.alter(table, rows, changes, columns)
    }

    /// Returns the leaves that have become sparse.
    private func alter(_ rows: RowSelection, _ part: Range<Int>, _ changes: [ColumnChange], _ editor: TreeEditor) throws(EngineError) -> [RewriteRemainder] {
        let changes = CellChanges(changes, of: try layout(of: editor.id).columns)
        let rest = try editor.alter(rows, part, changes)
        // First, because only linked leaves can be written early. Division changes no other leaf, so the rest of the selection stays valid.
        for divided in rest where divided.second != nil {
            try mutate { () throws(EngineError) in try editor.finish(divided) { editor.joinLeaves($0, $1) } }
        }
        for unfit in rest where unfit.isUnfit {
            var keys = rows.keys(of: rows.leaves[unfit.changes.lowerBound])[...]
            while !keys.isEmpty {
                try beginPart()
                try mutate { () throws(EngineError) in try editor.alterNext(&keys, changes) }
            }
        }
        // Other changes make no leaf emptier.
        return changes.variable.isEmpty ? [] : rest.filter { $0.second == nil && !$0.isUnfit }
    }

    private func require(_ changes: [ColumnChange], fit columns: [Column], of table: TreeID) throws(EngineError) {
        guard changes.count <= Redo.columnsMax else { throw EngineError(.tooLarge, "A change of \(changes.count) columns at once is too long for the log.") }
        var variable: Set<Int> = []
        for change in changes {
            let column = columns[change.column]
            let fits =
                switch change {
                case .add: (1...8).contains(column.kind.width)
                case .set(_, let cell) where column.kind != .bytes: cell.map { $0.count == max(column.kind.width, 1) } ?? true
                case .set: true
                }
            guard fits else { throw EngineError(.tooLarge, "A change of column \(column.id) of table \(table) does not fit its cells.") }
            guard column.kind != .bytes || variable.insert(change.column).inserted else {
                throw EngineError(.tooLarge, "A change of table \(table) sets column \(column.id) twice.")
            }
        }
    }

    /// Deletes the selected rows. The table must not have changed since the selection.
    package func delete(_ rows: RowSelection, from table: TreeID) throws(EngineError) {
        _ = try layout(of: table)
        let editor = try editor(table)
        guard !rows.isEmpty else { return }
        try inParts(of: rows) { part throws(EngineError) in
            try editor.delete(rows, part)
        } finish: { rest throws(EngineError) in
            if rest.isUnfit {
                _ = try editor.delete(rows.keys(of: rows.leaves[rest.changes.lowerBound]))
            } else {
                try editor.finish(rest) { editor.joinLeaves($0, $1) }
            }
        }
        redo.deleteRows(table, rows)
    }

    // MARK: Memory

    /// Calls `body` with one part of a selection's leaves after the other, and `finish` with each leaf that it returns. Writes leaves of the transaction
    /// between.
    private func inParts(
        of rows: RowSelection, _ body: (Range<Int>) throws(EngineError) -> [RewriteRemainder], finish: (RewriteRemainder) throws(EngineError) -> Void
    ) throws(EngineError) {
        var last: [RewriteRemainder] = []
        func process(_ rest: [RewriteRemainder]) throws(EngineError) {
            for rest in rest {
                try beginPart()
                try mutate { () throws(EngineError) in try finish(rest) }
            }
        }
        for start in stride(from: 0, to: rows.leafCount, by: leavesInPart) {
            try beginPart()
            let part = start..<min(start + leavesInPart, rows.leafCount)
            let rest = try mutateInSteps { () throws(EngineError) in try body(part) }
            // The last leaf of a part could be merged with the first one of the next part, which is identified by its content.
            let isLater = { (rest: RewriteRemainder) in !rest.isEmpty && rest.changes.upperBound == part.upperBound }
            last += rest.filter(isLater)
            try process(rest.filter { !isLater($0) })
        }
        try process(last)
        endParts()
    }

    /// A part gets at most two new frames for each leaf: an eighth of the pool.
    private var leavesInPart: Int { max(1, ledger.pool.capacity / 16) }

    /// Writes the leaves of the transaction if they fill half of the pool. The commit then writes pages in place of redo.
    private func beginPart() throws(EngineError) {
        try applyDeferred()
        abandonRedoOfFullPool()
        try writeLeavesEarly()
    }

    private func endParts() {
        assert(!isDeferred && !hasFailed, "A change of many rows is executed before it is recorded.")
        changesManyLeaves = true
        abandonRedoOfFullPool()
    }

    /// A replay of the redo would need as much memory. On a full disk the leaves have no room, so they stay in memory as long as there is enough.
    private func abandonRedoOfFullPool() {
        let isFull = engine.core.room.state.acceptsOnlyFreeing && ledger.unwritten < ledger.pool.maximum / 2
        if ledger.unwritten >= unwrittenMax, !isFull, ended.isEmpty, !redo.isAbandoned { redo.abandon() }
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
        endParts()
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
        do throws(EngineError) { try alter(try self.table(table).selection(of: keys), by: changes, in: table) } catch {
            guard error.code == .tooLarge else { throw error }
            throw EngineError(.damaged, "The log has an impossible change: \(error.message)")
        }
    }

    func replayDeleteEntries(_ index: TreeID, _ reader: inout ByteReader) throws(EngineError) {
        let rawPlace = try reader.integer(UInt8.self)
        guard let place = RowKeyPlace(rawValue: rawPlace) else {
            throw EngineError(.damaged, "The log names position \(rawPlace) of row keys in index entries, which does not exist.")
        }
        try deleteEntries(of: try reader.rowSet(), at: place, from: index)
    }
}
