internal import HornbeamEngine
package import HornbeamModel
internal import HornbeamThreads

/// The results of a scan in portions of a few leaves each, in the order of their keys.
///
/// A thread scans the next portions while the caller works with one. So the leaves of a portion are in the pool when the caller reads its rows, and
/// are read and decompressed once, also if the store is larger than the pool.
///
/// Used by one thread, which calls `stop` at the end.
package final class ScanPortions {
    private struct State {
        /// Portions that the caller has not taken yet.
        var scanned: [Result<Portion, any Error>] = []
        var isStopped = false
    }

    private struct Portion {
        var rows: ResultSet
        /// True for the last one.
        var isLast: Bool
    }

    private static let leavesMax = 32
    /// The portions that the thread scans before the caller takes them.
    private static let scannedMax = 4

    private let snapshot: StoreSnapshot
    private let plan: FetchPlan
    private let table: EntityTable
    private let state = Guarded(State())
    /// False if the predicate has closures of the program, which may use the caller's thread or actor.
    private let scansAhead: Bool
    private var thread: WorkThread?
    private var isComplete = false
    // Only the thread uses the following, once it was started.
    private let context: FilterContext
    private var work: FetchWork
    /// The key at which the next portion begins; nil for the first one.
    private var next: UInt64?

    init(_ plan: FetchPlan, _ table: EntityTable, in snapshot: StoreSnapshot, scansAhead: Bool) {
        self.plan = plan
        self.table = table
        self.snapshot = snapshot
        self.scansAhead = scansAhead
        context = FilterContext(snapshot)
        work = FetchWork(plan: plan)
    }

    /// The rows of the next portion, perhaps none; nil after the last one.
    package func rows() throws -> ResultSet? {
        guard !isComplete else { return nil }
        // After an error there is no next portion.
        isComplete = true
        let portion = try thread == nil ? scan() : waitForThread()
        isComplete = portion.isLast
        if thread == nil, !isComplete, scansAhead, context.threads.most > 1 { startThread() }
        return portion.rows
    }

    /// Ends the thread, and returns the work of the fetch.
    @discardableResult
    package func stop() -> FetchWork {
        isComplete = true
        state.withLock { $0.isStopped = true }
        state.signal()
        thread?.join()
        thread = nil
        return work
    }

    private func scan() throws -> Portion {
        let sink = ResultSink(plan.mode, neededCount: nil, excluding: [], context: context)
        let execution = FetchExecution(plan, snapshot, context, sink)
        let leavesMax = max(min(Self.leavesMax, snapshot.engineSnapshot.poolPages / 16), 1)
        let rowsReadBefore = context.rowsRead
        _ = try context.run { () throws(EngineError) in try execution.scan(table, KeyWindow(first: next), leavesMax: leavesMax) }
        work.add(FetchWork(execution))
        work.rowsRead -= rowsReadBefore
        next = execution.lastKey.map { $0 + 1 }
        return Portion(rows: sink.finish(), isLast: next == nil)
    }

    // MARK: The thread

    private func startThread() {
        let thread = WorkThread { self.scanAhead() }
        if thread.start() { self.thread = thread }
    }

    private func scanAhead() {
        while state.wait({ $0.isStopped ? false : $0.scanned.count < Self.scannedMax ? true : nil }) {
            let portion = Result { try scan() }
            state.withLock { $0.scanned.append(portion) }
            state.signal()
            guard case .success(let portion) = portion, !portion.isLast else { return }
        }
    }

    private func waitForThread() throws -> Portion {
        let portion = state.wait { $0.scanned.isEmpty ? nil : $0.scanned.removeFirst() }
        state.signal()
        return try portion.get()
    }
}

extension StoreSnapshot {
    /// The results of a request in portions; nil if the request needs an order or a limit, or is not answered by the scan of one table.
    package func portions(of fetch: ValidatedFetch) throws -> ScanPortions? {
        guard fetch.request.sortDescriptors.isEmpty, fetch.request.window.isWhole else { return nil }
        let plan = try FetchPlan(fetch, in: self, counting: false)
        guard case .scan = plan.choice.path, plan.tables.count == 1 else { return nil }
        return ScanPortions(plan, plan.tables[0], in: self, scansAhead: fetch.request.predicate?.node.hasBlocks != true)
    }
}
