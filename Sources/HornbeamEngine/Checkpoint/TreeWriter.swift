// Writes the nodes of a version that are in memory only, bottom-up, so that a page names only pages before it.

/// Appends the new nodes of one version to page files.
final class TreeWriter {
    private let pool: FramePool
    private let files: PageFiles
    private let appender: PageAppender
    private let sequence: UInt64
    private let scratch: Page
    /// Where each node went.
    private(set) var written: [UInt32: PageReference] = [:]

    init(pool: FramePool, files: PageFiles, appender: PageAppender, sequence: UInt64) {
        self.pool = pool
        self.files = files
        self.appender = appender
        self.sequence = sequence
        unsafe scratch = Page(.allocate(byteCount: pool.pageSize, alignment: 4096))
    }

    deinit { unsafe scratch.base.deallocate() }

    /// The reference on disk of a tree's root, after everything below it is written.
    func write(_ record: TreeRecord) throws(EngineError) -> PageReference {
        try write(record.root, record)
    }

    private func write(_ reference: PageReference, _ record: TreeRecord) throws(EngineError) -> PageReference {
        guard reference.isInMemory else { return reference }
        let frame = reference.frame
        if let disk = pool.diskReference(frame) {
            return PageReference(address: disk.address, stamp: disk.stamp, count: reference.count)
        }
        if let done = written[frame] { return done }
        let page = pool.page(frame)
        var children: [PageReference] = []
        if page.level > 0 {
            let node = SlottedNode(page)
            for i in 0..<node.count { children.append(try write(node.child(i), record)) }
        }
        try pack(page, record, children)
        let heading = PageHeading(
            kind: PageKind(rawValue: page.kind)!, tree: record.id, level: page.level, checkpoint: sequence)
        let payload = unsafe UnsafeRawBufferPointer(start: scratch.base, count: scratch.limit)
        let written = unsafe try appender.append(heading, payload, count: reference.count)
        self.written[frame] = written
        return written
    }

    /// Packs a node tight into the scratch page.
    private func pack(_ page: Page, _ record: TreeRecord, _ children: [PageReference]) throws(EngineError) {
        if page.kind == NodeKind.tableLeaf.rawValue {
            guard let own = unsafe record.layouts?.resolve(page.load(24))?.own else {
                throw EngineError(.damaged, "A leaf of table \(record.id) names a layout that the table does not have.")
            }
            return TableLeaf(page: page, layout: own).pack(into: scratch)
        }
        SlottedNode(page).pack(into: scratch, children: children)
    }
}

extension SlottedNode {
    /// A copy without slack; links of inner nodes are replaced, hints cleared.
    func pack(into page: Page, children: [PageReference]) {
        let target = SlottedNode.create(
            in: page, inner: isInner, level: self.page.level, capacity: count,
            limit: SlottedNode.measure(self, 0..<count, prefix: self.page.prefixLength), prefix: prefix)
        for i in 0..<count {
            target.append(i, of: self)
            if isInner { target.setChild(i, children[i]) }
        }
        if isInner { target.clearPadding() }
    }
}

extension TableLeaf {
    /// A copy without slack.
    func pack(into page: Page) {
        let limit = layout.arrayBytes(capacity: count, keyWidth: keyWidth) + heapBytes(0..<count)
        let target = TableLeaf.create(
            in: page, layout, capacity: count, keyWidth: keyWidth, firstKey: firstKey, limit: limit)
        target.append(0..<count, of: self, fills: [])
    }
}
