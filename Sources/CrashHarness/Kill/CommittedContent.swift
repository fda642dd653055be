import HornbeamEngine

/// The expected content of a store on the real disk. Each verification advances it.
struct CommittedContent {
    /// The newest verified transaction.
    private(set) var transaction: UInt64 = 0
    private var state = EngineOracle.State()

    /// Checks the content and the structure of a store whose newest transaction is `found`.
    mutating func verify(_ engine: Engine, at found: UInt64, _ oracle: EngineOracle) throws {
        while transaction < found {
            transaction += 1
            if transaction > 1 { for change in oracle.changes(transaction) { state.apply(change) } }
        }
        guard try oracle.digest(try engine.snapshot()) == state.digest else {
            throw Finding("the content is not that after transaction \(found)")
        }
        let report = try engine.check()
        guard report.problems.isEmpty else { throw Finding(report.problems.joined(separator: " ")) }
        // Sometimes the store is not closed, so that the next recovery follows a recovery.
        if Bool.random() { try engine.close() }
    }
}
