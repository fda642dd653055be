// One state of the store: the immutable roots of all trees.
//
// A version costs an array of references. Trees that a transaction did not change share their records with the version before.

import Synchronization

/// A tree of one version.
final class TreeRecord: Sendable {
    let id: TreeID
    let name: String
    let root: PageReference
    /// Of tables only.
    let layouts: TableLayouts?
    let hint = RootHint()

    init(id: TreeID, name: String, root: PageReference, layouts: TableLayouts?) {
        self.id = id
        self.name = name
        self.root = root
        self.layouts = layouts
    }
}

/// The complete result of a transaction.
final class StoreVersion: Sendable {
    let number: TransactionNumber
    /// Ascending by identifier.
    let trees: [TreeRecord]
    let names: [String: TreeID]
    let nextTree: UInt32
    /// The next number of the store-wide sequence.
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

    /// Entries and rows of all trees.
    var entries: UInt64 { trees.reduce(0) { $0 &+ $1.root.count } }

    /// True if its nodes may have been released although snapshots hold it. Read inside an epoch.
    @inline(__always)
    var isExpired: Bool { expired.load(ordering: .acquiring) }

    func expire() { expired.store(true, ordering: .sequentiallyConsistent) }

    /// The tree that holds named values.
    static let valuesTree = TreeID(1)

    /// A store without content: only the tree of named values.
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
