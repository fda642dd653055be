public import Foundation
public import HornbeamModel

/// Opening away from the calling thread, since recovery after a crash and a migration take time.
extension PersistentContainer {
    /// A container with an open store at a place on disk, for the model that classes declare. Opens on a background thread.
    ///
    /// ```swift
    /// let library = try await PersistentContainer.open(at: url, for: Author.self, Book.self)
    /// ```
    /// - Parameters:
    ///   - url: The place of the store.
    ///   - classes: The classes that declare the model.
    ///   - migration: Follows the migration of a store that needs one. Cancelling the task cancels the migration.
    /// - Throws: As the synchronous form; `CancellationError` when the task was cancelled before opening began.
    public static func open(
        at url: URL, for classes: ManagedObject.Type..., migration: MigrationMonitor? = nil
    ) async throws -> PersistentContainer {
        try await opening(migration) { try open(at: url, model: ManagedObjectModel(for: classes), classes: classes, migration: $0) }
    }

    /// A container with an open store at a place on disk. Opens on a background thread.
    ///
    /// - Throws: As the synchronous form; `CancellationError` when the task was cancelled before opening began.
    public static func open(
        at url: URL, model: ManagedObjectModel, classes: [ManagedObject.Type] = [], migration: MigrationMonitor? = nil
    ) async throws -> PersistentContainer {
        try await opening(migration) { try open(at: url, model: model, classes: classes, migration: $0) }
    }

    /// Opens the stores on a background thread; those that are open stay as they are (CON-3).
    ///
    /// - Parameter migration: Follows the migration of stores that need one. Cancelling the task cancels the migration.
    /// - Throws: As the synchronous form; `CancellationError` when the task was cancelled before opening began.
    public func loadPersistentStores(migration: MigrationMonitor) async throws {
        try await Self.opening(migration) { try self.loadPersistentStores(migration: $0) }
    }

    /// Runs the body on a background thread; cancelling the task cancels the migration that the body begins.
    private static func opening<Result: Sendable>(
        _ given: MigrationMonitor?, _ body: @escaping @Sendable (MigrationMonitor) throws -> Result
    ) async throws -> Result {
        let monitor = given ?? MigrationMonitor()
        guard !Task.isCancelled else {
            monitor.finish()
            throw CancellationError()
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                WorkerThreads.tasks.enqueue { continuation.resume(with: Swift.Result { try body(monitor) }) }
            }
        } onCancel: {
            monitor.cancel()
        }
    }
}
