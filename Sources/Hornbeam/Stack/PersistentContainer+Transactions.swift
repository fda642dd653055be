internal import HornbeamModel
internal import HornbeamStore

/// Work with a context that exists during one closure: `write` saves at the end, `read` only reads.
extension PersistentContainer {
    /// Runs the body with a new context, saves at its end, and returns the result of the body.
    ///
    /// ```swift
    /// let id = try container.write { context in Book(in: context, title: "Frankenstein").objectID }
    /// ```
    /// If the body throws, nothing is saved. New objects have permanent IDs inside the body, unless several stores could hold them.
    /// Blocks the calling thread.
    /// - Throws: The errors of the body and of `save()`. Then nothing is saved.
    @discardableResult
    public func write<Result: Sendable>(_ body: (ManagedObjectContext) throws -> Result) throws -> Result {
        try performAndWait { try Self.writing($0, body) }
    }

    /// Runs the body with a new context, and saves at its end: `try container.write { Book(in: $0, title: "Emma") }`. The value of the body is ignored.
    ///
    /// - Throws: The errors of the form with a result.
    public func write(_ body: (ManagedObjectContext) throws -> Void) throws {
        try performAndWait { try Self.writing($0, body) }
    }

    /// Runs the body with a new context on a background thread, saves at its end, and returns the result of the body.
    ///
    /// If the body throws, nothing is saved.
    /// - Throws: The errors of the synchronous form; `CancellationError` if the task was cancelled before the body began.
    @discardableResult
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (ManagedObjectContext) throws -> Result
    ) async throws -> Result {
        try await performBackgroundTask { try Self.writing($0, body) }
    }

    /// Runs the body with a new context on a background thread, and saves at its end. The value of the body is ignored.
    ///
    /// - Throws: The errors of the form with a result.
    public func write(_ body: @escaping @Sendable (ManagedObjectContext) throws -> Void) async throws {
        try await performBackgroundTask { try Self.writing($0, body) }
    }

    /// Runs the body with a new context that reads one snapshot of the stores. Blocks the calling thread.
    ///
    /// - Throws: The errors of the body; `unsupportedRequest` if the body leaves unsaved changes, which would be lost.
    public func read<Result: Sendable>(_ body: (ManagedObjectContext) throws -> Result) throws -> Result {
        try performAndWait { try Self.reading($0, body) }
    }

    /// Runs the body with a new context that reads one snapshot of the stores, on a background thread.
    ///
    /// - Throws: The errors of the synchronous form; `CancellationError` if the task was cancelled before the body began.
    public func read<Result: Sendable>(
        _ body: @escaping @Sendable (ManagedObjectContext) throws -> Result
    ) async throws -> Result {
        try await performBackgroundTask { try Self.reading($0, body) }
    }

    private static func writing<Result>(_ context: ManagedObjectContext, _ body: (ManagedObjectContext) throws -> Result) throws -> Result {
        try requireStores(context)
        context.role.givesPermanentIDs = true
        let result = try body(context)
        try context.save()
        return result
    }

    /// - Throws: `closed` if no store is open, before the body creates objects.
    private static func requireStores(_ context: ManagedObjectContext) throws {
        if context.stack.isEmpty { _ = try context.stack.firstStore() }
    }

    private static func reading<Result>(_ context: ManagedObjectContext, _ body: (ManagedObjectContext) throws -> Result) throws -> Result {
        try requireStores(context)
        try context.setQueryGeneration(from: .current)
        let result = try body(context)
        guard !context.hasChanges else {
            throw HornbeamError(
                .unsupportedRequest,
                "The body of read left unsaved changes, which are not saved. Use write for changes.")
        }
        return result
    }
}
