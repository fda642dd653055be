// The editors of one transaction. Most transactions change a few trees, so a search of an array takes less time than a hash table.

/// The editors of a transaction, by tree.
struct TreeEditors {
    private var ids: [TreeID] = []
    private(set) var all: [TreeEditor] = []

    init() {
        ids.reserveCapacity(TreeEditors.fewTrees)
        all.reserveCapacity(TreeEditors.fewTrees)
    }

    private static let fewTrees = 8

    subscript(_ id: TreeID) -> TreeEditor? { ids.firstIndex(of: id).map { all[$0] } }

    mutating func insert(_ editor: TreeEditor) {
        assert(self[editor.id] == nil, "A transaction has one editor for each tree.")
        ids.append(editor.id)
        all.append(editor)
    }

    mutating func remove(_ id: TreeID) {
        guard let place = ids.firstIndex(of: id) else { return }
        ids.remove(at: place)
        all.remove(at: place)
    }
}
