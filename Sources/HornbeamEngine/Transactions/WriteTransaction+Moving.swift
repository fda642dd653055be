// A transaction that changes no content: it takes live nodes and blobs out of page files that are to go.
//
// The log gets a record that does nothing when it is replayed: after a crash the nodes lie where they were, since a
// page file stays until both checkpoints have done without it.

extension WriteTransaction {
    /// Moves what a tree has in the chosen files, from a key on, as far as the budget goes.
    func move(_ tree: TreeID, _ moves: inout PageMoves, from key: [UInt8]) throws(EngineError) {
        let editor = try editor(tree)
        let files = moves.files
        moves.resume()
        try mutate { () throws(EngineError) in
            try editor.move(&moves, from: key) { blob throws(EngineError) in try engine.moveBlob(blob, outOf: files) }
        }
        // A transaction of which nothing is logged could not be told from one that is missing.
        if moves.moved > 0 { setNextObjectKey(nextObjectKey) }
    }
}
