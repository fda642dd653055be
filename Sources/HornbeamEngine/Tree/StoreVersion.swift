// One version of the store: the immutable roots of all trees.
//
// A version is an array of references to tree records. If a transaction did not change a tree, its version and the preceding one share the
// record.

import Synchronization

/// A tree of one version.
final class TreeRecord: Sendable {
    let id: TreeID
    let name: String
    let root: PageReference
    /// The layouts of a table; nil for an index.
    let layouts: TableLayouts?
    /// The insert buffer of an index; nil if it has none.
    let insertBuffer: TreeID?
    let hint = RootHint()

    init(id: TreeID, name: String, root: PageReference, layouts: TableLayouts?, insertBuffer: TreeID? = nil) {
        self.id = id
        self.name = name
        self.root = root
        self.layouts = layouts
        self.insertBuffer = insertBuffer
    }
}

/// The trees of the store after one transaction.
final class StoreVersion: Sendable {
    let number: TransactionNumber
    /// In the order of their identifiers.
    let trees: [TreeRecord]
    let names: [String: TreeID]
    let nextTree: UInt32
    /// The next object key that the store assigns.
    let nextObjectKey: UInt64
    private let expired = Atomic(false)

    init(
        number: TransactionNumber, trees: [TreeRecord], names: [String: TreeID], nextTree: UInt32, nextObjectKey: UInt64
    ) {
        self.number = number
        self.trees = trees
        self.names = names
        self.nextTree = nextTree
        self.nextObjectKey = nextObjectKey
    }

    /// The number of entries and rows of all trees.
    var entries: UInt64 { trees.reduce(0) { $0 &+ $1.root.count } }

    /// True if the version's nodes may have been released although snapshots use it. Read inside an epoch.
    @inline(__always)
    var isExpired: Bool { expired.load(ordering: .acquiring) }

    func expire() { expired.store(true, ordering: .sequentiallyConsistent) }

    /// The tree of the named values.
    static let valuesTree = TreeID(1)

    /// The version of an empty store: only the tree of the named values.
    static let empty = StoreVersion(
        number: .zero, trees: [TreeRecord(id: valuesTree, name: "", root: .empty, layouts: nil)], names: [:],
        nextTree: 2, nextObjectKey: 1)

    /// The position of a tree in `trees`.
    func position(of id: TreeID) -> Int? {
        var low = 0
        var high = trees.count
        while low < high {
            let middle = (low + high) / 2
            if trees[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < trees.count && trees[low].id == id ? low : nil
    }

    func record(_ id: TreeID) throws(EngineError) -> TreeRecord {
        if let position = position(of: id) { return trees[position] }
        throw EngineError(.unknownTree, "There is no tree \(id) in this version of the store.")
    }
}
