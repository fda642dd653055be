// Writes leaves of a big transaction before its commit, so that the transaction needs no more memory than the pool has. Leaves of a bulk insert, and
// leaves that are filled at the end of a tree, are written while others are made, by a `LeafWriter`.
//
// The commit of such a transaction writes its pages anyway. A written leaf is a cached page: the pool may evict it, and a later change copies it
// like any other page. The copy makes the written page dead.
// Invariants:
// - Inner nodes stay in memory.
// - Nothing on disk refers to the pages before the commit, which syncs them first.
// - The files contain no other pages, so an abort removes them. Until the transaction ends, no checkpoint removes them.
// - A leaf that is a cached page is no node of the transaction, also after a failed write of others.
// - A leaf that replaces an early one has a higher address, by which salvage knows the newer one.

import HornbeamThreads

/// The leaves that a running transaction has written. Used by the thread of the transaction.
final class EarlyLeaves {
    private let engine: EngineCore
    private let appender: PageAppender
    /// The written pages, including those that the transaction has replaced since.
    private(set) var pages: [PageReference] = []
    private var files: Set<PageFileNumber> = []
    /// The writers of bulk inserts and of filled leaves, one for each tree. Each has files of its own: the leaves of an insert buffer live until the next
    /// batch, those of its index longer, and rows longest, so most pages of a file die together.
    private(set) var leafWriters: [TreeID: LeafWriter] = [:]
    private var packer: NodePacker?
    /// True if a leaf writer may have written leaves since the last use of `appender`.
    private var isBehind = false
    /// The trees of whose leaves `appender` may have written some since the last use of their writers.
    private var treesBehind: Set<TreeID> = []
    private var appenders: [PageAppender] { [appender] + leafWriters.values.map(\.appender) }

    init(_ engine: EngineCore) {
        self.engine = engine
        appender = engine.files.makeAppender()
    }

    /// Writes the leaves that the transaction has made in some trees. `version` is the number of the transaction.
    func write(_ trees: [TreeRecord], of ledger: NodeLedger, version: TransactionNumber) throws(EngineError) {
        try finishFilled(of: ledger)
        if isBehind { try appender.seal() }
        isBehind = false
        treesBehind = Set(leafWriters.keys)
        try prepareFiles()
        let writer = TreeWriter(pool: engine.pool, appender: appender, version: version, threads: min(Cores.count, 4))
        // A failed write leaves some leaves as cached pages. The abort must not free their frames.
        defer { ledger.forget(writer.cached) }
        for tree in trees { try writer.writeLeaves(of: tree, madeBy: ledger) }
        assert(writer.cached.count == writer.written.count, "Each written leaf is a cached page.")
        add(Array(writer.written.values))
    }

    /// Calls `body` with a writer for the leaves of a bulk insert into a tree.
    func withLeafWriter<R>(
        _ tree: TreeID, _ ledger: NodeLedger, version: TransactionNumber, _ body: (LeafWriter) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        try finishFilled(of: ledger)
        let writer = try leafWriter(tree, version)
        defer { takeWritten(by: writer, ledger) }
        return try body(writer)
    }

    /// Lets another thread write leaves that are filled. Links those that were written before.
    func begin(_ leaves: [FilledLeaf], of tree: TreeEditor, version: TransactionNumber) throws(EngineError) {
        let ledger = tree.ledger
        try finishFilled(of: ledger)
        let filled = ledger.filledLeaves ?? FilledLeaves()
        ledger.filledLeaves = filled
        filled.begin(leaves, of: tree, try leafWriter(tree.id, version))
    }

    /// The writer for the leaves of a tree. All writers pack in the same places, so one of them is used at a time.
    private func leafWriter(_ tree: TreeID, _ version: TransactionNumber) throws(EngineError) -> LeafWriter {
        let packer = packer ?? NodePacker(pageSize: engine.pool.pageSize, places: LeafWriter.places)
        self.packer = packer
        let writer = leafWriters[tree] ?? LeafWriter(engine.files.makeAppender(), packer, version: version)
        leafWriters[tree] = writer
        writer.version = version
        if treesBehind.remove(tree) != nil { try writer.appender.seal() }
        isBehind = true
        try prepareFiles()
        return writer
    }

    /// Waits for the filled leaves that are being written, and links them.
    func finishFilled(of ledger: NodeLedger) throws(EngineError) {
        guard let filled = ledger.filledLeaves else { return }
        defer { for writer in leafWriters.values { takeWritten(by: writer, ledger) } }
        try filled.finish()
    }

    private func takeWritten(by writer: LeafWriter, _ ledger: NodeLedger) {
        let written = writer.takeWritten()
        if written.pages.isEmpty { return }
        ledger.forget(written.frames)
        add(written.pages)
    }

    private func prepareFiles() throws(EngineError) {
        try engine.requireStore()
        let limit = engine.space.policy.fileSizeLimit(live: engine.space.table.liveBytes)
        for appender in appenders { appender.limitFiles(toBytes: limit) }
    }

    private func add(_ written: [PageReference]) {
        pages += written
        for page in written { files.insert(page.file) }
        engine.space.keep(files)
    }

    /// Writes the pages to their files, from which they can be read after the appenders are gone.
    func flush() throws(EngineError) {
        for appender in appenders { try appender.flush() }
    }

    /// Makes the pages durable. No page is appended to their files afterwards.
    func sync() throws(EngineError) {
        for appender in appenders {
            try appender.sync()
            try appender.seal()
        }
    }

    /// Called when the version of the transaction is published, or when its commit has failed: the file table counts the pages, or nothing needs them.
    func end() { engine.space.endKeeping(files) }

    /// Removes the files, unless the pages are durable. Then the next checkpoints find the files unneeded.
    func abandon() {
        end()
        for appender in appenders { appender.abandon() }
    }
}
