internal import Synchronization

/// The reins of a fetch that runs on another thread: ends it, and tells how far it is.
package final class FetchControl: Sendable {
    private let cancelled = Atomic(false)
    private let found = Atomic(0)
    private let report: @Sendable (Int) -> Void

    /// - Parameter report: Called with the number of results so far, on the threads that search.
    package init(report: @escaping @Sendable (Int) -> Void) { self.report = report }

    /// The fetch ends soon with `CancellationError`.
    package func cancel() { cancelled.store(true, ordering: .relaxed) }

    package var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// Some more results were found.
    func proceed(_ count: Int) { report(found.add(count, ordering: .relaxed).newValue) }
}
