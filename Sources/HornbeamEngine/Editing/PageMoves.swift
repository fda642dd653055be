// Moves live pages and blobs out of page files that the cleaner empties. It copies their nodes as nodes of a transaction, which the next
// checkpoint writes to another file, and copies their blobs. The content does not change, so the log records only the transaction's number.
//
// A walk over a tree begins at a key and ends when the budget is used up. An inner node contains the addresses of its children, so a leaf
// is read only if it is in one of these files, or if it may refer to blobs in them.

/// The files to empty, and the budget of one walk.
struct PageMoves {
    let files: Set<PageFileNumber>
    /// True if the files contain blobs: then the walk reads every leaf.
    let hasBlobs: Bool
    // The remaining numbers of nodes to move and of nodes to read. The walk ends when one of them is 0.
    var nodesLeft: Int
    var readsLeft: Int
    /// The number of moved nodes.
    private(set) var moved = 0
    /// The key at which the next walk continues; nil at the end of the tree.
    private(set) var next: [UInt8]?

    init(from files: Set<PageFileNumber>, hasBlobs: Bool, nodes: Int) {
        self.files = files
        self.hasBlobs = hasBlobs
        nodesLeft = nodes
        readsLeft = nodes * 4 + NodeCheck.levelMax
    }

    var isUsedUp: Bool { nodesLeft <= 0 || readsLeft <= 0 }

    mutating func countMove() {
        moved += 1
        nodesLeft -= 1
    }

    /// Records the key at which the walk stops. Each level calls it; the first call, from the deepest level, has the exact key.
    mutating func pause(at key: [UInt8]) { next = next ?? key }
    mutating func resume() { next = nil }
}

extension TreeEditor {
    /// Moves the tree's nodes and blobs out of the files, from a key on. `blobs` copies a blob and returns its new reference.
    func move(
        _ moves: inout PageMoves, from key: [UInt8], blobs: (PageReference) throws(EngineError) -> PageReference
    ) throws(EngineError) {
        guard !root.isEmpty else { return }
        forgetPath()
        if let moved = try moved(root, try pool.rootFrame(root), from: key, lower: [], &moves, blobs) { setRoot(moved) }
    }

    /// Moves a node and the nodes below it. Returns the new link to the node; nil if it does not change. `lower` is a lower bound of its keys.
    private func moved(
        _ link: PageReference, _ frame: UInt32, from key: [UInt8], lower: [UInt8], _ moves: inout PageMoves,
        _ blobs: (PageReference) throws(EngineError) -> PageReference
    ) throws(EngineError) -> PageReference? {
        moves.readsLeft -= 1
        guard pool.page(frame).level > 0 else { return try movedLeaf(link, frame, &moves, blobs) }
        let inner = node(frame)
        var changes: [(index: Int, link: PageReference)] = []
        var start = key
        for i in (key.isEmpty ? 0 : key.withBorrowedBytes { inner.childIndex(for: $0) })..<inner.count {
            let first = i == 0 ? lower : inner.key(i)
            if moves.isUsedUp {
                moves.pause(at: first)
                break
            }
            let child = inner.child(i)
            if inner.page.level > 1 || moves.hasBlobs || isInEmptiedFile(child, moves) {
                let frame = try pool.child(inner, i)
                if let new = try moved(child, frame, from: start, lower: first, &moves, blobs) { changes.append((i, new)) }
            }
            start = []
        }
        guard !changes.isEmpty || isInEmptiedFile(link, moves) else { return nil }
        let owned = try ledger.own(frame, link)
        for change in changes { node(owned).setChild(change.index, change.link) }
        moves.countMove()
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
        guard !changes.isEmpty || isInEmptiedFile(link, moves) else { return nil }
        let owned = try ledger.own(frame, link)
        for change in changes { pool.page(owned).store(change.blob, at: change.offset) }
        moves.countMove()
        return PageReference(frame: owned, count: link.count)
    }

    /// True if the node of a link is in one of the files.
    private func isInEmptiedFile(_ link: PageReference, _ moves: PageMoves) -> Bool {
        if !link.isInMemory { return moves.files.contains(link.file) }
        guard let disk = pool.diskReference(link.frame) else { return false }
        return moves.files.contains(PageReference(address: disk.address, stamp: 0, count: 0).file)
    }

    /// The references to blobs in a leaf, with their offsets in its page.
    private func blobCells(_ frame: UInt32) throws(EngineError) -> [(offset: Int, blob: PageReference)] {
        let page = pool.page(frame)
        guard isTable else { return SlottedNode(page).blobCells }
        guard let own = unsafe layouts?.resolve(page.load(24))?.own else { return [] }
        let leaf = TableLeaf(page: page, layout: own)
        return (0..<leaf.count).flatMap { leaf.blobCells($0) }
    }
}

extension SlottedNode {
    /// The references to blobs in an index leaf, with their offsets in the page.
    var blobCells: [(offset: Int, blob: PageReference)] {
        (0..<count).filter { isBlob($0) }.map { (valueOffset($0), value($0).load(0)) }
    }
}
