public import Foundation
public import HornbeamModel
internal import HornbeamThreads

/// Reports the progress of the migration of stores while they are opened, and can cancel it.
///
/// ```swift
/// let monitor = MigrationMonitor()
/// Task { for await step in monitor.steps { print(step) } }
/// try container.loadPersistentStores(migration: monitor)
/// ```
/// Can be used from any thread, for one call that opens stores.
public final class MigrationMonitor: Sendable {
    /// The progress for views, from 0 to 1,000 units. Cancelling it cancels the migration.
    public let progress: Progress
    /// The current part of the migration and its progress. Ends when the call that opens the stores returns.
    public let steps: AsyncStream<StoreProgress>
    private let continuation: AsyncStream<StoreProgress>.Continuation
    private let isCancelled = Flag()

    /// A monitor for one call that opens stores.
    public init() {
        progress = Progress(totalUnitCount: 1_000)
        (steps, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
    }

    deinit { continuation.finish() }

    /// Cancels the migration at its next step, and opening throws `migrationCancelled`.
    ///
    /// The store stays at the version of the last complete stage, or step of a `VersionedModel`; in a migration in one step it is unchanged.
    public func cancel() { _ = isCancelled.raise() }

    func report(for url: URL) -> @Sendable (StoreProgress) throws -> Void {
        { [self] step in
            guard !isCancelled.isRaised, !progress.isCancelled else {
                throw HornbeamError(.migrationCancelled, "The migration of \(url.lastPathComponent) was cancelled.")
            }
            progress.completedUnitCount = Int64(step.fraction * 1_000)
            continuation.yield(step)
        }
    }

    func finish() { continuation.finish() }
}
