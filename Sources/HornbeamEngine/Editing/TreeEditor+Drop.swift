// Drops a tree: retires its nodes and the blobs of its entries.
//
// The walk reads all nodes, since leaves contain the references to blobs. It reads each node in an epoch of its own, so that the pool can reuse
// the frames of pages that were read before. A tree of any size can be dropped with few frames.

extension TreeEditor {
    /// Retires all nodes of the tree and the blobs of its entries. Must not be called inside an epoch.
    func retireAll() throws(EngineError) {
        let link = root
        setRoot(.empty)
        if !link.isEmpty { try retireAll(link, below: nil) }
    }

    /// - Parameter level: The level of the parent; nil for the root.
    private func retireAll(_ link: PageReference, below level: Int?) throws(EngineError) {
        let node = try readForDrop(link, below: level)
        for child in node.children { try retireAll(child, below: node.level) }
        ledger.retire(link)
    }

    /// The level of a node and its links. Records the blobs of a leaf as dead.
    private func readForDrop(_ link: PageReference, below level: Int?) throws(EngineError) -> (level: Int, children: [PageReference]) {
        let slot = pool.epochs.enter()
        defer { pool.epochs.leave(slot) }
        let frame: UInt32
        if let level { frame = try pool.child(link, below: level) } else { frame = try pool.rootFrame(link) }
        let page = pool.page(frame)
        if page.level > 0 {
            let inner = SlottedNode(page)
            return (page.level, (0..<inner.count).map { inner.child($0) })
        }
        try verifyLeaf(frame)
        recordBlobsAsDead(frame)
        return (0, [])
    }

    private func recordBlobsAsDead(_ frame: UInt32) {
        let page = pool.page(frame)
        if page.kind == NodeKind.tableLeaf.rawValue {
            guard let own = unsafe layouts?.resolve(page.load(24))?.own else { return }
            let leaf = TableLeaf(page: page, layout: own)
            for slot in 0..<leaf.count { ledger.deadBlobs.append(contentsOf: leaf.blobs(slot)) }
        } else {
            let leaf = SlottedNode(page)
            for i in 0..<leaf.count where leaf.isBlob(i) { ledger.deadBlobs.append(leaf.value(i).load(0)) }
        }
    }
}
