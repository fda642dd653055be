// A big transaction writes its leaves when they fill half of the pool, and those that it has filled at the end of a tree while it fills the next ones
// (Checkpoint/EarlyLeaves.swift).

extension WriteTransaction {
    /// Writes the leaves that the transaction has made, if there are many and the commit will write pages instead of redo.
    func writeLeavesEarly() throws(EngineError) {
        guard redo.isAbandoned, ledger.unwritten >= unwrittenMax else { return }
        let leaves = try makeEarlyLeaves()
        do throws(EngineError) {
            try leaves.write(treesInProgress(), of: ledger, version: number)
        } catch {
            hasFailed = true
            throw error
        }
        // Inner nodes stay in memory, and may be many.
        unwrittenMax = max(unwrittenMax, ledger.unwritten + ledger.pool.capacity / 4)
    }

    /// Puts entries, whose keys ascend, into an index leaf by leaf, and writes the leaves. The commit must be certain to write pages in place of redo.
    /// Returns an entry as `TreeEditor.put` does.
    func putLeafByLeaf(
        _ entries: Range<Int>, _ entry: (Int) -> (key: Bytes, value: Bytes), in tree: TreeEditor, onlyNew: Bool
    ) throws(EngineError) -> Int? {
        assert(redo.isAbandoned, "A transaction that writes leaves early has no redo.")
        return try mutateInSteps { () throws(EngineError) in
            try makeEarlyLeaves().withLeafWriter(tree.id, ledger, version: number) { (writer) throws(EngineError) in
                try tree.put(entries, onlyNew: onlyNew, writer: writer, entry)
            }
        }
    }

    /// Lets another thread write the leaves that were filled at the end of a tree, if there are many. Does nothing if the commit may write redo.
    func writeFilledLeaves(of tree: TreeEditor) throws(EngineError) {
        guard redo.isAbandoned else { return }
        if tree.filled == nil { tree.filled = [] }
        while let filled = tree.takeFilled(FilledLeaves.leavesTogether(ledger.pool)) {
            do throws(EngineError) {
                try makeEarlyLeaves().begin(filled, of: tree, version: number)
            } catch {
                hasFailed = true
                throw error
            }
        }
    }

    /// Applies the changes that are not applied yet, and links the leaves that are being written. Called before the version is made.
    func finishChanges() throws(EngineError) {
        try applyDeferred()
        try earlyLeaves?.finishFilled(of: ledger)
        ledger.filledLeaves = nil
    }

    private func makeEarlyLeaves() throws(EngineError) -> EarlyLeaves {
        try engine.requireOwnProcess()
        let leaves = earlyLeaves ?? EarlyLeaves(engine.core)
        earlyLeaves = leaves
        return leaves
    }
}
