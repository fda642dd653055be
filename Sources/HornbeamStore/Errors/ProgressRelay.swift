internal import HornbeamEngine
internal import HornbeamModel

/// Passes the progress of the engine to the caller, and an error of the caller's closure back through the engine.
final class ProgressRelay {
    private let report: ((StoreProgress) throws -> Void)?
    /// The error that ended the work. The engine's own error only represents it.
    private var failure: (any Error)?

    init(_ report: ((StoreProgress) throws -> Void)?) { self.report = report }

    func report(_ part: String, _ done: Int, _ total: Int) throws(EngineError) {
        do { try report?(StoreProgress(part: part, done: done, total: total)) } catch { throw stop(error) }
    }

    /// For the engine; nil when the caller wants no reports.
    var engineReport: ProgressReport? {
        guard report != nil else { return nil }
        return { (progress) throws(EngineError) in try self.report(progress.part, progress.done, progress.total) }
    }

    /// Keeps the error that ends the work.
    func stop(_ error: any Error) -> EngineError {
        failure = failure ?? error
        return .workCancelled
    }

    /// Runs engine calls; throws the error that ended them.
    func translated<R>(_ body: () throws(EngineError) -> R) throws -> R {
        do { return try body() } catch { throw failure ?? HornbeamError(error) }
    }
}
