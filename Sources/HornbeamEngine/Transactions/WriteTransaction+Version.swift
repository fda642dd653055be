// Makes the version of a transaction.
//
// Invariants: the trees of a version ascend; a version follows the base of its transaction.

extension WriteTransaction {
    /// Throws if a count exceeds the limits of a store, since the store could not be opened again.
    func requireBounds() throws(EngineError) {
        guard number.rawValue < StoreLimits.numberMax else { throw full("transaction numbers") }
        guard editors.all.allSatisfy({ $0.root.count <= NodeCheck.countMax }) else { throw full("entries of a tree") }
    }

    func full(_ what: String) -> EngineError {
        EngineError(.full, "All \(what) of the store are used up. Copy its content to a new one.", path: engine.path)
    }

    /// True if the transaction has changes.
    var hasChanges: Bool { !redo.bytes.isEmpty || redo.isAbandoned }

    /// The trees with their present roots, for writing their leaves. The editors forget their leaves, since these may be evicted.
    func treesInProgress() -> [TreeRecord] {
        editors.all.map { editor in
            editor.forgetPath()
            return TreeRecord(id: editor.id, name: "", root: editor.root, layouts: editor.layouts)
        }
    }

    /// Makes the version that includes the changes.
    func makeVersion() -> StoreVersion {
        assert(!isDeferred, "A version holds all changes of its transaction.")
        var trees = base.trees
        for editor in editors.all where created[editor.id] == nil {
            guard let position = base.position(of: editor.id) else { continue }
            let old = trees[position]
            if old.root == editor.root, old.layouts === editor.layouts, old.insertBuffer == editor.insertBuffer { continue }
            trees[position] = TreeRecord(
                id: editor.id, name: old.name, root: editor.root, layouts: editor.layouts, insertBuffer: editor.insertBuffer)
        }
        if !dropped.isEmpty { trees.removeAll { dropped.contains($0.id) } }
        let new = created.isEmpty ? [] : created.sorted { $0.key < $1.key }
        for (id, name) in new {
            guard let editor = editors[id] else { continue }
            trees.append(TreeRecord(id: id, name: name, root: editor.root, layouts: editor.layouts, insertBuffer: editor.insertBuffer))
        }
        assert(zip(trees, trees.dropFirst()).allSatisfy { $0.id < $1.id }, "The trees of a version ascend.")
        assert(trees.allSatisfy { $0.id.rawValue < nextTree }, "The next tree has a new number.")
        assert(base.number < number, "A version follows its base.")
        return StoreVersion(
            number: number, trees: trees, names: names, nextTree: nextTree, nextObjectKey: nextObjectKey)
    }
}
