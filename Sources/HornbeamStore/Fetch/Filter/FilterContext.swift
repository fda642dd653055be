internal import HornbeamEngine
internal import HornbeamModel

/// The state that filters share in one fetch: views of other tables and indexes, and the first error of the evaluator.
final class FilterContext {
    let snapshot: StoreSnapshot
    private(set) var failure: (any Error)?
    private(set) var rowsRead = 0
    private var members: [ObjectIdentifier: MemberReader] = [:]
    /// Results of tests through to-ones, by test: the keys of the destinations whose result differs from that of a missing one.
    var keySets: [ObjectIdentifier: KeySet] = [:]
    /// Results of tests on members, by test: the number of counted members of each owner.
    var memberCounts: [ObjectIdentifier: [UInt64: Int64]] = [:]
    var leavesSeen: [ObjectIdentifier: Int] = [:]
    /// The number of leaves for which a test through a relationship looks up related rows. For further leaves it reads all related rows once.
    let lookupLeavesMax: Int
    let threads: ScanThreads

    /// Cancels the fetch; nil for a fetch that cannot be cancelled.
    var control: FetchControl?

    init(_ snapshot: StoreSnapshot, lookupLeavesMax: Int = 4, threads: ScanThreads = ScanThreads(), control: FetchControl? = nil) {
        self.snapshot = snapshot
        self.lookupLeavesMax = lookupLeavesMax
        self.threads = threads
        self.control = control
    }

    var schema: Schema { snapshot.schema }

    func view(_ entityIndex: Int32) -> TableView { snapshot.view(schema.table(at: entityIndex)) }

    func reader(_ link: LinkIndex) throws(EngineError) -> MemberReader {
        if let reader = members[ObjectIdentifier(link)] { return reader }
        let reader = try snapshot.members(link.relationship)
        members[ObjectIdentifier(link)] = reader
        return reader
    }

    /// Called per leaf or per group of rows. Reports the progress, and throws if the fetch was cancelled.
    @inline(__always)
    func reportProgress(_ found: Int) throws(EngineError) {
        guard let control else { return }
        control.reportProgress(found)
        if control.isCancelled { throw fail(CancellationError()) }
    }

    func count(rows: Int) { rowsRead += rows }

    /// Stores an error that is not the engine's, and returns an engine error that ends the fetch.
    func fail(_ error: any Error) -> EngineError {
        failure = failure ?? error
        return EngineError(.closed, "The evaluation of the predicate failed.")
    }

    /// Runs the work of a fetch. Throws a stored error, or the engine's error as a `HornbeamError`.
    func run<R>(_ body: () throws(EngineError) -> R) throws -> R {
        do {
            return try body()
        } catch {
            if let failure { throw failure }
            throw HornbeamError(error)
        }
    }
}
