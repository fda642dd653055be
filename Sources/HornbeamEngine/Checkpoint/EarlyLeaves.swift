// Writes leaves of a big transaction before its commit, so that the transaction needs no more memory than the pool has.
//
// The commit of such a transaction writes its pages anyway. A written leaf is a cached page: the pool may evict it, and a later change copies it
// like any other page. The copy makes the written page dead.
// Invariants:
// - Inner nodes stay in memory.
// - Nothing on disk refers to the pages before the commit, which syncs them first.
// - The files contain no other pages, so an abort removes them. Until the transaction ends, no checkpoint removes them.
// - A leaf that is a cached page is no node of the transaction, also after a failed write of others.

import HornbeamThreads

/// The leaves that a running transaction has written. Used by the thread of the transaction.
final class EarlyLeaves {
    private let engine: EngineCore
    private let appender: PageAppender
    /// The written pages, including those that the transaction has replaced since.
    private(set) var pages: [PageReference] = []

    private var files: Set<PageFileNumber> { Set(pages.map(\.file)) }

    init(_ engine: EngineCore) {
        self.engine = engine
        appender = engine.files.makeAppender()
    }

    /// Writes the leaves that the transaction has made in some trees. `checkpoint` is the number of the newest checkpoint.
    func write(_ trees: [TreeRecord], of ledger: NodeLedger, checkpoint: UInt64) throws(EngineError) {
        try engine.requireStore()
        appender.limitFiles(toBytes: engine.space.policy.fileSizeLimit(live: engine.space.table.liveBytes))
        let writer = TreeWriter(
            pool: engine.pool, files: engine.files, appender: appender, sequence: checkpoint, threads: min(Cores.count, 4))
        // A failed write leaves some leaves as cached pages. The abort must not free their frames.
        defer { ledger.forget(writer.cached) }
        for tree in trees { try writer.writeLeaves(of: tree, madeBy: ledger) }
        assert(writer.cached.count == writer.written.count, "Each written leaf is a cached page.")
        pages += writer.written.values
        engine.space.keep(files)
    }

    /// Makes the pages durable. No page is appended to their files afterwards.
    func sync() throws(EngineError) {
        try appender.sync()
        try appender.seal()
    }

    /// Called when the version of the transaction is published, or when its commit has failed: the file table counts the pages, or nothing needs them.
    func end() { engine.space.endKeeping(files) }

    /// Removes the files, unless the pages are durable. Then the next checkpoints find the files unneeded.
    func abandon() {
        end()
        appender.abandon()
    }
}
