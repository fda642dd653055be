// Reads the pages ahead that a replay changes. Otherwise the replay would wait for the disk at each of them, since the changes of a log lie on
// leaves anywhere in the store.
//
// A thread reads the log before the replay does, finds the leaf of each change in the version before the replay, and asks the system to read
// it. It keeps a limited number of leaves ahead. It changes nothing, so an error only ends it; the replay meets the error too and reports it.

import HornbeamThreads

/// The thread that reads ahead of one replay. It starts when the replay has applied so many bytes that a thread is worthwhile.
@safe final class ReplayReadAhead: Sendable {
    private struct Progress {
        var applied = TransactionNumber.zero
        var isStopped = false
    }

    private let engine: Engine
    private let read: Reading
    private let progress = Guarded(Progress())
    nonisolated(unsafe) private var bytes = 0  // only the replaying thread uses it
    nonisolated(unsafe) private var thread: WorkThread?  // only the replaying thread uses it

    /// The redo after which the thread starts.
    private static let startBytes = 64 << 10
    /// The leaves that are requested before the replay must have caught up with the preceding ones: about 20 MB of packed pages.
    private static let leavesMax = 4096

    /// Calls its argument with the numbers and payloads of the transactions in the log that is replayed.
    typealias Reading = @Sendable (_ body: (TransactionNumber, Bytes) throws(EngineError) -> Void) throws(EngineError) -> Void

    init(_ engine: Engine, _ read: @escaping Reading) {
        self.engine = engine
        self.read = read
    }

    /// Records that the replay has applied a transaction.
    func advance(to number: TransactionNumber, bytes: Int) {
        progress.withLock { $0.applied = number }
        unsafe self.bytes += bytes
        guard unsafe thread == nil else { return progress.signal() }
        guard unsafe self.bytes >= Self.startBytes, engine.options.usesBackgroundThread, engine.options.mayStartThread() else { return }
        let thread = WorkThread { self.run() }
        if thread.start() { unsafe self.thread = thread }
    }

    /// Stops the thread and waits for it.
    func stop() {
        progress.withLock { $0.isStopped = true }
        progress.signal()
        unsafe thread?.join()
        unsafe thread = nil
    }

    // MARK: The thread

    private func run() {
        do throws(EngineError) {
            var position = Position(snapshot: try engine.snapshot(), start: progress.withLock { $0.applied })
            try read { (number, payload) throws(EngineError) in
                guard number > position.start else { return }
                if try Redo.attached(payload) != nil {
                    // The version of this transaction is in page files. The replay continues there.
                    try waitUntilApplied(number)
                    position.snapshot = try engine.snapshot()
                } else {
                    try requestLeaves(of: payload, &position)
                }
                guard position.leaves >= Self.leavesMax else { return }
                try waitUntilApplied(position.pause)
                (position.pause, position.leaves) = (number, 0)
            }
        } catch {
            // The replay meets the error too, unless the thread was stopped.
        }
    }

    /// How far the thread has read.
    private struct Position {
        /// The version before the changes.
        var snapshot: Snapshot
        /// The transactions up to this one were applied before the thread started.
        let start: TransactionNumber
        /// The leaves since the last pause, and the last transaction before it.
        var leaves = 0
        var pause = TransactionNumber.zero
        let rows = ReplayRows()
    }

    /// Throws if the replay has ended.
    private func waitUntilApplied(_ number: TransactionNumber) throws(EngineError) {
        let isStopped = progress.wait { $0.isStopped ? true : $0.applied >= number ? false : nil }
        if isStopped { throw EngineError(.closed, "The replay has ended.") }
    }

    /// Requests the leaves of single entries and rows. Other changes, which are rare, end the reading of the transaction.
    private func requestLeaves(of payload: Bytes, _ position: inout Position) throws(EngineError) {
        var reader = ByteReader(payload)
        while !reader.isAtEnd, let code = RedoCode(rawValue: try reader.integer(UInt8.self)) {
            if code == .sequence {
                _ = try reader.integer(UInt64.self)
                continue
            }
            let tree = TreeID(try reader.integer(UInt32.self))
            // A tree that the log makes has no leaves on disk.
            guard let index = position.snapshot.version.position(of: tree) else { return }
            let layouts = position.snapshot.version.trees[index].layouts
            switch code {
            case .put where layouts == nil: try position.snapshot.index(tree).readAhead(try reader.redoPut().key)
            case .delete where layouts == nil: try position.snapshot.index(tree).readAhead(try reader.redoKey())
            case .putRow:
                guard let layout = layouts?.all.last else { return }
                let key = try reader.integer(UInt64.self)
                try position.rows.row(of: tree, layout).readImage(&reader)
                try position.snapshot.table(tree).readAhead(key)
            case .deleteRows where layouts != nil:
                let keys = try reader.keys()
                for key in keys { try position.snapshot.table(tree).readAhead(key) }
                position.leaves += keys.count
            default: return
            }
            position.leaves += 1
        }
    }
}
