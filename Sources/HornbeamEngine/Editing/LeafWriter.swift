// Writes the new leaves of a bulk leaf rewrite (TreeEditor+BulkRewrite.swift), for transactions whose commit writes pages anyway.
//
// Threads pack leaves while the editor's thread appends those of the set before. A written leaf is a page of the cache, as in
// Checkpoint/EarlyLeaves.swift.

/// Writes leaves of a running transaction.
final class LeafWriter {
    private let packer: NodePacker
    let appender: PageAppender
    private var written: (pages: [PageReference], frames: Set<UInt32>) = ([], [])

    init(_ appender: PageAppender, pageSize: Int, sequence: UInt64) {
        self.appender = appender
        packer = NodePacker(pageSize: pageSize, sequence: sequence, places: 2 * TreeEditor.leavesTogether)
    }

    /// Packs a leaf. Any thread.
    func pack(_ leaf: Page, _ tree: TreeID, _ layouts: TableLayouts?, in place: Int) throws(EngineError) -> PageAppender.EncodedPage {
        try packer.pack(leaf, tree: tree, layouts, in: place)
    }

    /// Appends a packed leaf, whose frame becomes a page of the cache.
    func append(_ leaf: PageAppender.EncodedPage, of frame: UInt32, count: Int, _ pool: FramePool) throws(EngineError) -> PageReference {
        let page = try appender.append(leaf, count: UInt64(count))
        pool.markWritten(frame, address: page.address, stamp: page.stamp, isPinned: false)
        written.pages.append(page)
        written.frames.insert(frame)
        return page
    }

    /// The pages that were written since the last call, and their frames.
    func takeWritten() -> (pages: [PageReference], frames: Set<UInt32>) {
        defer { written = ([], []) }
        return written
    }
}
