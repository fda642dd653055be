public import Foundation
public import HornbeamModel

/// Asynchronous opening: recovery after a crash, and migrations, take time.
extension PersistentContainer {
    /// A container with an open store at a path on disk, for the model that classes declare. Opens on a background thread.
    ///
    /// ```swift
    /// let library = try await PersistentContainer.open(at: url, for: Author.self, Book.self)
    /// ```
    /// - Parameters:
    ///   - url: The URL of the store.
    ///   - classes: The classes that declare the model.
    ///   - migration: Reports the progress of a migration. Cancelling the task cancels the migration.
    /// - Throws: The errors of the synchronous form; `CancellationError` if the task was cancelled before opening began.
    public static func open(
        at url: URL, for classes: ManagedObject.Type..., migration: MigrationMonitor? = nil
    ) async throws -> PersistentContainer {
        try await opening(migration) {
            try open(PersistentStoreDescription(url: url), model: ManagedObjectModel(for: classes), classes: classes, migration: $0)
        }
    }

    /// A container with the open store of a description, for the model that classes declare. Opens on a background thread.
    ///
    /// ```swift
    /// let shop = try await PersistentContainer.open(.postgres("postgresql:///shop"), for: Author.self, Book.self)
    /// ```
    /// - Parameters:
    ///   - description: The store.
    ///   - classes: The classes that declare the model.
    ///   - migration: Reports the progress of a migration. Cancelling the task cancels the migration.
    /// - Throws: The errors of the synchronous form; `CancellationError` if the task was cancelled before opening began.
    public static func open(
        _ description: PersistentStoreDescription, for classes: ManagedObject.Type..., migration: MigrationMonitor? = nil
    ) async throws -> PersistentContainer {
        try await opening(migration) { try open(description, model: ManagedObjectModel(for: classes), classes: classes, migration: $0) }
    }

    /// A container with an open store at a path on disk. Opens on a background thread.
    ///
    /// - Throws: The errors of the synchronous form; `CancellationError` if the task was cancelled before opening began.
    public static func open(
        at url: URL, model: ManagedObjectModel, classes: [ManagedObject.Type] = [], migration: MigrationMonitor? = nil
    ) async throws -> PersistentContainer {
        try await opening(migration) { try open(PersistentStoreDescription(url: url), model: model, classes: classes, migration: $0) }
    }

    /// Opens the stores that are not open yet, on a background thread (CON-3).
    ///
    /// - Parameter migration: Reports the progress of migrations. Cancelling the task cancels the migration.
    /// - Throws: The errors of the synchronous form; `CancellationError` if the task was cancelled before opening began.
    public func loadPersistentStores(migration: MigrationMonitor) async throws {
        try await Self.opening(migration) { try self.loadPersistentStores(migration: $0) }
    }

    /// Runs the body on a background thread. Cancelling the task cancels a migration in the body.
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
                WorkerThreads.tasks.enqueue {
                    let result = Swift.Result { try body(monitor) }
                    // The body does not finish the monitor if it failed before it opened a store.
                    monitor.finish()
                    continuation.resume(with: result)
                }
            }
        } onCancel: {
            monitor.cancel()
        }
    }
}
