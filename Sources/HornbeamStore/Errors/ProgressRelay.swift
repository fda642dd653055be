internal import HornbeamEngine
internal import HornbeamModel

/// Reports the engine's progress to the caller's closure. When the closure throws, the engine stops and the caller receives the closure's error.
final class ProgressRelay {
    private let report: ((StoreProgress) throws -> Void)?
    /// The first error that ended the work. The engine can throw only `EngineError`, so `translated` throws this error instead.
    private var failure: (any Error)?

    init(_ report: ((StoreProgress) throws -> Void)?) { self.report = report }

    func report(_ part: String, _ done: Int, _ total: Int) throws(EngineError) {
        do { try report?(StoreProgress(part: part, done: done, total: total)) } catch { throw stop(error) }
    }

    /// The closure that the engine calls; nil when the caller passed no closure.
    var engineReport: ProgressReport? {
        guard report != nil else { return nil }
        return { (progress) throws(EngineError) in try self.report(progress.part, progress.done, progress.total) }
    }

    /// Stores the error that ends the work, and returns the error with which the engine stops.
    func stop(_ error: any Error) -> EngineError {
        failure = failure ?? error
        return .workCancelled
    }

    /// Runs engine calls. Throws the error stored by `stop`, or else the engine's error.
    func translated<R>(_ body: () throws(EngineError) -> R) throws -> R {
        do { return try body() } catch { throw failure ?? HornbeamError(error) }
    }
}
