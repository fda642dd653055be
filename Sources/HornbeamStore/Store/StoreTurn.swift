internal import HornbeamModel
internal import HornbeamThreads

/// The turn of the calls of a custom store that must not overlap, such as saves. A thread with the turn must not take it again.
final class StoreTurn: Sendable {
    private let isTaken = Guarded(false)
    /// The time after which a waiting call checks again whether its task was cancelled.
    private static let pauseMilliseconds = 20

    /// Runs a body with the turn.
    ///
    /// - Parameter isCancellable: True to end the wait when the task of the caller is cancelled.
    /// - Throws: `CancellationError`; the errors of the body.
    func withTurn<Result>(isCancellable: Bool = false, _ body: () throws -> Result) throws -> Result {
        try take(isCancellable)
        defer {
            isTaken.withLock { $0 = false }
            isTaken.signal()
        }
        return try body()
    }

    private func take(_ isCancellable: Bool) throws {
        guard isCancellable else { return isTaken.wait { Self.take(&$0) } }
        while isTaken.wait(milliseconds: Self.pauseMilliseconds, { Self.take(&$0) }) == nil {
            if StoreCancellation.isRequested { throw CancellationError() }
        }
    }

    private static func take(_ isTaken: inout Bool) -> Void? {
        if isTaken { return nil }
        isTaken = true
        return ()
    }
}
