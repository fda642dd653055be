// The editors of one transaction. Most transactions change a few trees, so a search of an array takes less time than a hash table.

/// The editors of a transaction, by tree.
struct TreeEditors {
    private(set) var all: [TreeEditor] = []

    init() { all.reserveCapacity(TreeEditors.fewTrees) }

    private static let fewTrees = 8

    subscript(_ id: TreeID) -> TreeEditor? { all.first { $0.id == id } }

    mutating func insert(_ editor: TreeEditor) {
        assert(self[editor.id] == nil, "A transaction has one editor for each tree.")
        all.append(editor)
    }

    mutating func remove(_ id: TreeID) { all.removeAll { $0.id == id } }
}
