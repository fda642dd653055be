// Appends rows that were packed into leaves, possibly by other threads.

extension WriteTransaction {
    /// An empty batch of rows for the end of a table, which later transactions can use too.
    package func makeLeafBatch(for table: TreeID) throws(EngineError) -> LeafBatch {
        let editor = try tableEditor(table)
        return LeafBatch(editor.layouts!, pageSize: pageSize) { [engine] value throws(EngineError) in
            try engine.appendBlob(value, tree: table)
        }
    }

    /// Appends the rows of a batch behind all others of a table, and empties the batch; returns the bytes of the leaves.
    ///
    /// The redo of the transaction ends: its commit writes the pages.
    package func append(_ batch: LeafBatch, to table: TreeID) throws(EngineError) -> Int {
        let editor = try tableEditor(table)
        batch.finish()
        guard batch.leafCount > 0 else { return 0 }
        ledger.newBlobs.append(contentsOf: batch.blobs)
        try mutate { () throws(EngineError) in
            for number in 0..<batch.leafCount { try editor.append(batch.page(number)) }
        }
        redo.abandon()
        defer { batch.removeAll() }
        return batch.leafCount * pageSize
    }

    /// Puts new rows in one epoch. Returns false if one of the keys exists already; the caller must then abort the transaction.
    package func put(_ rows: ArraySlice<RowBuffer>, _ keys: [UInt64], in table: TreeID) throws(EngineError) -> Bool {
        let editor = try tableEditor(table)
        let room = editor.layouts!.variableBytesMax(pageSize: pageSize)
        guard deferred.isOver, rows.allSatisfy({ $0.variableBytes <= room && editor.layouts!.hasCurrentLayout($0) }) else {
            for (row, key) in zip(rows, keys) where try !put(row, key: key, in: table) { return false }
            return true
        }
        return try putPlain(rows, keys, in: editor)
    }

    /// Puts new rows whose values fit in a leaf. False if one of the keys exists already.
    private func putPlain(_ rows: ArraySlice<RowBuffer>, _ keys: [UInt64], in editor: TreeEditor) throws(EngineError) -> Bool {
        try writeLeavesEarly()
        let areNew = try mutate { () throws(EngineError) in
            for (row, key) in zip(rows, keys) {
                guard try editor.put(key: key, row) else { return false }
                redo.putRow(editor.id, key, row)
            }
            return true
        }
        abandonRedoOfBigTransaction()
        try writeFilledLeaves(of: editor)
        return areNew
    }

    private func tableEditor(_ table: TreeID) throws(EngineError) -> TreeEditor {
        let editor = try editor(table)
        guard editor.isTable else { throw EngineError(.unknownTree, "Tree \(table) is an index, not a table.") }
        return editor
    }
}
