internal import HornbeamEngine
internal import HornbeamModel

/// What filters need besides the row: views of other tables and indexes, and a place for failures of the evaluator.
final class FilterContext {
    let snapshot: StoreSnapshot
    private(set) var failure: (any Error)?
    private(set) var rowsRead = 0
    private var members: [ObjectIdentifier: MemberReader] = [:]
    /// What tests through relationships found out about the other end, by test.
    var keySets: [ObjectIdentifier: KeySet] = [:]
    var tallies: [ObjectIdentifier: [UInt64: Int64]] = [:]
    var leavesTested: [ObjectIdentifier: Int] = [:]
    /// So many leaves look up the other end row by row before all of it is read.
    let leavesLookedUp: Int
    let threads: ScanThreads

    /// Ends the fetch from outside; nil for a fetch that nobody can end.
    var control: FetchControl?

    init(_ snapshot: StoreSnapshot, leavesLookedUp: Int = 4, threads: ScanThreads = ScanThreads()) {
        self.snapshot = snapshot
        self.leavesLookedUp = leavesLookedUp
        self.threads = threads
    }

    var schema: Schema { snapshot.schema }

    func view(_ entityIndex: Int32) -> TableView { snapshot.view(schema.table(at: entityIndex)) }

    func reader(_ link: LinkIndex) throws(EngineError) -> MemberReader {
        if let reader = members[ObjectIdentifier(link)] { return reader }
        let reader = try snapshot.members(link.relationship)
        members[ObjectIdentifier(link)] = reader
        return reader
    }

    /// Called for each leaf, and for some rows together: the fetch may be ended there.
    @inline(__always)
    func proceed(_ found: Int) throws(EngineError) {
        guard let control else { return }
        control.proceed(found)
        if control.isCancelled { throw fail(CancellationError()) }
    }

    func count(rows: Int) { rowsRead += rows }

    /// Keeps an error that is not the engine's, and answers one that ends the work.
    func fail(_ error: any Error) -> EngineError {
        failure = failure ?? error
        return EngineError(.closed, "The evaluation of the predicate failed.")
    }

    /// Runs a fetch's work; the error that ended it comes out as users know it.
    func run<R>(_ body: () throws(EngineError) -> R) throws -> R {
        do {
            return try body()
        } catch {
            if let failure { throw failure }
            throw HornbeamError(error)
        }
    }
}
