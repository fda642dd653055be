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

    /// Records no redo from now on, since the transaction will be big: its commit writes the pages.
    package func commitByPages() { redo.abandon() }

    private func tableEditor(_ table: TreeID) throws(EngineError) -> TreeEditor {
        let editor = try editor(table)
        guard editor.isTable else { throw EngineError(.unknownTree, "Tree \(table) is an index, not a table.") }
        return editor
    }
}
