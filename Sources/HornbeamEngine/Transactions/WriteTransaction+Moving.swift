// Moves live nodes and blobs out of page files that are to be removed, without changing content.
//
// The log gets a record without effect: after a crash the nodes lie in their old places, since a page file remains until neither checkpoint
// needs it.

extension WriteTransaction {
    /// Moves a tree's nodes and blobs out of the chosen files, from a key on, within the budget.
    func move(_ tree: TreeID, _ moves: inout PageMoves, from key: [UInt8]) throws(EngineError) {
        let editor = try editor(tree)
        let files = moves.files
        moves.resume()
        try mutate { () throws(EngineError) in
            try editor.move(&moves, from: key) { blob throws(EngineError) in try engine.moveBlob(blob, outOf: files) }
        }
        assert(moves.moved >= 0 && !isDeferred, "Moves are executed at once.")
        // A transaction without a log record would look like a missing one.
        if moves.moved > 0 { setNextObjectKey(nextObjectKey) }
    }
}
