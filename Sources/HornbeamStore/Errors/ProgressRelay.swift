internal import HornbeamEngine
internal import HornbeamModel

/// Passes the progress of the engine on to whoever asked for the work, and an error of theirs back through the engine.
final class ProgressRelay {
    private let report: ((StoreProgress) throws -> Void)?
    /// What ended the work, which the engine's own error only stands for.
    private var failure: (any Error)?

    init(_ report: ((StoreProgress) throws -> Void)?) { self.report = report }

    func report(_ part: String, _ done: Int, _ total: Int) throws(EngineError) {
        do { try report?(StoreProgress(part: part, done: done, total: total)) } catch { throw stop(error) }
    }

    /// For the engine; nil when nobody asked.
    var engineReport: ProgressReport? {
        guard report != nil else { return nil }
        return { (progress) throws(EngineError) in try self.report(progress.part, progress.done, progress.total) }
    }

    /// Keeps the error that ends the work.
    func stop(_ error: any Error) -> EngineError {
        failure = failure ?? error
        return .workCancelled
    }

    /// Runs work of the engine; throws what ended it.
    func translated<R>(_ body: () throws(EngineError) -> R) throws -> R {
        do { return try body() } catch { throw failure ?? HornbeamError(error) }
    }
}
