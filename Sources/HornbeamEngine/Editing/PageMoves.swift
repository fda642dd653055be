// Moves live pages and blobs out of page files: nodes there become nodes of a transaction, which the next checkpoint writes elsewhere; blobs
// are copied. The content does not change, so the log records only the transaction's number.
//
// A tree is walked from a key on until the budget is used up. Inner nodes name the files of their children, so a leaf is read only if it
// lies in a file that is being emptied, or may reference blobs there.

/// The files to empty, and the budget of one walk.
struct PageMoves {
    let files: Set<PageFileNumber>
    /// True if the files hold blobs: then every leaf is read.
    let hasBlobs: Bool
    /// Nodes still to be moved, and to be read; the walk ends when either is 0.
    var nodesLeft: Int
    var looksLeft: Int
    /// Pages and blobs moved.
    private(set) var moved = 0
    /// The key to continue from; nil at the end of the tree.
    private(set) var next: [UInt8]?

    init(from files: Set<PageFileNumber>, hasBlobs: Bool, nodes: Int) {
        self.files = files
        self.hasBlobs = hasBlobs
        nodesLeft = nodes
        looksLeft = nodes * 4 + NodeCheck.levelMax
    }

    var isUsedUp: Bool { nodesLeft <= 0 || looksLeft <= 0 }

    mutating func noteMove() {
        moved += 1
        nodesLeft -= 1
    }

    /// Records where the walk stops; the first caller is the deepest and knows the exact key.
    mutating func pause(at key: [UInt8]) { next = next ?? key }
    mutating func resume() { next = nil }
}

extension TreeEditor {
    /// Moves the tree's nodes and blobs in the chosen files, from a key on.
    func move(
        _ moves: inout PageMoves, from key: [UInt8], blobs: (PageReference) throws(EngineError) -> PageReference
    ) throws(EngineError) {
        guard !root.isEmpty else { return }
        forgetPath()
        if let moved = try moved(root, try pool.rootFrame(root), from: key, lower: [], &moves, blobs) { setRoot(moved) }
    }

    /// The link to a node after its children were moved; nil if it does not change. `lower`: a lower bound of the keys below.
    private func moved(
        _ link: PageReference, _ frame: UInt32, from key: [UInt8], lower: [UInt8], _ moves: inout PageMoves,
        _ blobs: (PageReference) throws(EngineError) -> PageReference
    ) throws(EngineError) -> PageReference? {
        moves.looksLeft -= 1
        guard pool.page(frame).level > 0 else { return try movedLeaf(link, frame, &moves, blobs) }
        let inner = node(frame)
        var changes: [(index: Int, link: PageReference)] = []
        var start = key
        for i in (key.isEmpty ? 0 : key.lend { inner.childIndex(for: $0) })..<inner.count {
            let first = i == 0 ? lower : inner.key(i)
            if moves.isUsedUp {
                moves.pause(at: first)
                break
            }
            let child = inner.child(i)
            if inner.page.level > 1 || moves.hasBlobs || isLeaving(child, moves) {
                let frame = try pool.child(inner, i)
                if let new = try moved(child, frame, from: start, lower: first, &moves, blobs) { changes.append((i, new)) }
            }
            start = []
        }
        guard !changes.isEmpty || isLeaving(link, moves) else { return nil }
        let owned = try ledger.own(frame, link)
        for change in changes { node(owned).setChild(change.index, change.link) }
        moves.noteMove()
        return PageReference(frame: owned, count: link.count)
    }

    private func movedLeaf(
        _ link: PageReference, _ frame: UInt32, _ moves: inout PageMoves,
        _ blobs: (PageReference) throws(EngineError) -> PageReference
    ) throws(EngineError) -> PageReference? {
        try verifyLeaf(frame)
        var changes: [(offset: Int, blob: PageReference)] = []
        if moves.hasBlobs {
            for (offset, blob) in try blobCells(frame) {
                let copy = try blobs(blob)
                guard copy != blob else { continue }
                ledger.deadBlobs.append(blob)
                ledger.newBlobs.append(copy)
                changes.append((offset, copy))
            }
        }
        guard !changes.isEmpty || isLeaving(link, moves) else { return nil }
        let owned = try ledger.own(frame, link)
        for change in changes { pool.page(owned).store(change.blob, at: change.offset) }
        moves.noteMove()
        return PageReference(frame: owned, count: link.count)
    }

    /// True if the node that a link names lies in one of the files.
    private func isLeaving(_ link: PageReference, _ moves: PageMoves) -> Bool {
        if !link.isInMemory { return moves.files.contains(link.file) }
        guard let disk = pool.diskReference(link.frame) else { return false }
        return moves.files.contains(PageReference(address: disk.address, stamp: 0, count: 0).file)
    }

    /// The references to blobs in a leaf, with their places in its page.
    private func blobCells(_ frame: UInt32) throws(EngineError) -> [(offset: Int, blob: PageReference)] {
        let page = pool.page(frame)
        guard isTable else { return SlottedNode(page).blobCells }
        guard let own = unsafe layouts?.resolve(page.load(24))?.own else { return [] }
        let leaf = TableLeaf(page: page, layout: own)
        return (0..<leaf.count).flatMap { leaf.blobCells($0) }
    }
}

extension SlottedNode {
    /// The references to blobs in a leaf, with their places in the page.
    var blobCells: [(offset: Int, blob: PageReference)] {
        (0..<count).filter { isBlob($0) }.map { (valueOffset($0), value($0).load(0)) }
    }
}
