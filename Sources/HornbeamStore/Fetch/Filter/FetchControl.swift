internal import Synchronization

/// Cancels a fetch on another thread and reports its progress.
package final class FetchControl: Sendable {
    private let cancelled = Atomic(false)
    private let found = Atomic(0)
    private let report: @Sendable (Int) -> Void

    /// - Parameter report: Called with the number of results so far, on the threads of the fetch.
    package init(report: @escaping @Sendable (Int) -> Void) { self.report = report }

    /// Makes the fetch throw `CancellationError` at its next leaf.
    package func cancel() { cancelled.store(true, ordering: .relaxed) }

    package var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// Adds to the number of results and reports it.
    func reportProgress(_ count: Int) { report(found.add(count, ordering: .relaxed).newValue) }
}
