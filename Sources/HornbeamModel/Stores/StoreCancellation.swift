internal import HornbeamThreads

/// The cancellation of the task for which the current thread calls a store.
///
/// A store that waits, such as for a server, checks it meanwhile. When it is requested, the store ends a read and throws `CancellationError`.
public enum StoreCancellation {
    private static let work = PerThread<@Sendable () -> Bool>()

    /// True if the task was cancelled.
    public static var isRequested: Bool { Task.isCancelled || (work.current?() ?? false) }

    /// Runs a body for a task that waits for it on another thread.
    package static func working<R>(forTaskThatIsCancelled isCancelled: @escaping @Sendable () -> Bool, _ body: () throws -> R) rethrows -> R {
        try work.withValue(isCancelled, body)
    }
}
