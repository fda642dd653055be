// Moves live nodes and blobs out of page files that the cleaner empties, without changing content.
//
// The log record of such a transaction has no effect. After a crash the nodes are at their old addresses, since a page file is not removed
// while one of the two checkpoints needs it.

extension WriteTransaction {
    /// Moves nodes and blobs of a tree out of the files that `moves` names. Starts at a key, and stops when the budget of `moves` is used up.
    func move(_ tree: TreeID, _ moves: inout PageMoves, from key: [UInt8]) throws(EngineError) {
        let editor = try editor(tree)
        let files = moves.files
        moves.resume()
        try mutate { () throws(EngineError) in
            try editor.move(&moves, from: key) { blob throws(EngineError) in try engine.moveBlob(blob, outOf: files) }
        }
        assert(moves.moved >= 0 && !isDeferred, "Moves are executed at once.")
        // Writes a redo record without effect, since a missing transaction number in the log would be reported as damage.
        if moves.moved > 0 { setNextObjectKey(nextObjectKey) }
    }
}
