// Writes the new leaves of a bulk leaf rewrite (TreeEditor+BulkRewrite.swift) and filled leaves (FilledLeaves.swift), for transactions whose commit writes
// pages anyway.
//
// Threads pack leaves while the editor's thread sets the links to those of the set before. Its call of `setWritten` makes the frame of an appended leaf a page
// of the cache, as in Checkpoint/EarlyLeaves.swift.

/// Writes leaves of a running transaction.
final class LeafWriter {
    private let packer: NodePacker
    let appender: PageAppender
    /// The number of the transaction, for the headings of the pages.
    var version: TransactionNumber
    private var written: (pages: [PageReference], frames: [UInt32]) = ([], [])

    /// The number of places that a packer of leaves needs: those of two sets.
    static var places: Int { 2 * TreeEditor.leavesTogether }

    init(_ appender: PageAppender, _ packer: NodePacker, version: TransactionNumber) {
        self.appender = appender
        self.packer = packer
        self.version = version
    }

    /// Packs a leaf. Any thread.
    func pack(_ leaf: Page, _ tree: TreeID, _ layouts: TableLayouts?, in place: Int) throws(EngineError) -> PageAppender.EncodedPage {
        try packer.pack(leaf, tree: tree, layouts, version: version, in: place)
    }

    /// Appends a packed leaf with a number of entries. Any thread.
    func append(_ leaf: PageAppender.EncodedPage, count: Int) throws(EngineError) -> PageReference {
        try appender.append(leaf, count: UInt64(count))
    }

    /// The frame of an appended leaf becomes a page of the cache.
    func setWritten(_ page: PageReference, in frame: UInt32, _ pool: FramePool) {
        pool.markWritten(frame, address: page.address, stamp: page.stamp, isPinned: false)
        written.pages.append(page)
        written.frames.append(frame)
    }

    /// No tree gets a link to an appended leaf.
    func setUnused(_ page: PageReference, _ ledger: NodeLedger) {
        written.pages.append(page)
        ledger.retire(page)
    }

    /// The pages that were written since the last call, and the frames of those that are linked.
    func takeWritten() -> (pages: [PageReference], frames: [UInt32]) {
        defer { written = ([], []) }
        return written
    }
}
