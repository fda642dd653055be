public import Foundation
public import HornbeamModel
internal import HornbeamThreads

/// Reports the migration of stores at their opening, and can cancel it.
///
/// ```swift
/// let monitor = MigrationMonitor()
/// Task { for await step in monitor.steps { print(step) } }
/// try container.loadPersistentStores(migration: monitor)
/// ```
/// Can be used from any thread, for one opening.
public final class MigrationMonitor: Sendable {
    /// For views; from 0 to 1,000 units. Cancelling it cancels the migration.
    public let progress: Progress
    /// The current part and its progress. Ends with the opening.
    public let steps: AsyncStream<StoreProgress>
    private let continuation: AsyncStream<StoreProgress>.Continuation
    private let isCancelled = Flag()

    /// A monitor for one opening.
    public init() {
        progress = Progress(totalUnitCount: 1_000)
        (steps, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
    }

    deinit { continuation.finish() }

    /// Cancels the migration at its next step; the store stays unchanged, and opening throws `migrationCancelled`.
    public func cancel() { _ = isCancelled.raise() }

    func report(for url: URL) -> @Sendable (StoreProgress) throws -> Void {
        { [self] step in
            guard !isCancelled.isRaised, !progress.isCancelled else {
                throw HornbeamError(
                    .migrationCancelled, "The migration of \(url.lastPathComponent) was cancelled. The store is unchanged.")
            }
            progress.completedUnitCount = Int64(step.fraction * 1_000)
            continuation.yield(step)
        }
    }

    func finish() { continuation.finish() }
}
