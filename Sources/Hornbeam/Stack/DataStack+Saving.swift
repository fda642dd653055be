/// Saves of the two contexts of a stack.
extension DataStack {
    /// Saves the main context if it has changes (CON-8).
    ///
    /// - Returns: True when something was saved.
    /// - Throws: The errors of `save()`; the changes stay in the context.
    @MainActor @discardableResult
    public func saveMainContext() throws -> Bool {
        guard let context = openContainer?.viewContext else { return false }
        return try context.saveChanges()
    }

    /// Saves the background context if it has changes (CON-8).
    ///
    /// - Returns: True when something was saved.
    /// - Throws: The errors of `save()`; the changes stay in the context.
    @discardableResult
    public func saveBackgroundContext() async throws -> Bool {
        guard let background = usedBackgroundContext else { return false }
        return try await background.perform { try $0.saveChanges() }
    }

    /// Saves the background context if it has changes, without waiting; the closure receives the result or the error (CON-8).
    public func saveBackgroundContext(completion: @escaping @Sendable (Result<Bool, any Error>) -> Void) {
        Task {
            do { completion(.success(try await saveBackgroundContext())) } catch { completion(.failure(error)) }
        }
    }
}

extension ManagedObjectContext {
    /// True when there were changes to save.
    func saveChanges() throws -> Bool {
        guard hasChanges else { return false }
        try save()
        return true
    }
}

/// Transactions on temporary contexts.
extension DataStack {
    /// Begins a transaction on a temporary context of the main actor: change its objects, then `end()` or `drop()` it (CON-8).
    ///
    /// ```swift
    /// let transaction = try stack.beginTransaction()
    /// Book(in: transaction.context, title: "Emma")
    /// try transaction.end()       // saved, and the main context shows the book
    /// ```
    /// - Throws: The errors of `container`.
    @MainActor public func beginTransaction() throws -> DataTransaction {
        let container = try container
        return DataTransaction(ManagedObjectContext(coordinator: container.persistentStoreCoordinator), container.viewContext)
    }

    /// Runs a transaction on a temporary context of a background thread, saves it, and returns when the main context has merged it (CON-8).
    ///
    /// - Throws: The errors of the closure and of `save()`; then nothing is saved.
    @discardableResult
    public func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (ManagedObjectContext) throws -> Result
    ) async throws -> Result {
        let result = try await container.write(body)
        try await mergeIntoMainContext()
        return result
    }

    /// Runs a transaction without a result. The body may end with an expression that makes an object, whose value is ignored.
    ///
    /// - Throws: The errors of the form with a result.
    public func transaction(_ body: @escaping @Sendable (ManagedObjectContext) throws -> Void) async throws {
        try await container.write(body)
        try await mergeIntoMainContext()
    }

    @MainActor private func mergeIntoMainContext() throws {
        try openContainer?.viewContext.mergeAndProcess()
    }
}

/// Changes on a temporary context, until they are saved or dropped.
@MainActor public final class DataTransaction {
    /// The temporary context. It sees saved objects, not the unsaved changes of the main context.
    public let context: ManagedObjectContext
    private let main: ManagedObjectContext

    init(_ context: ManagedObjectContext, _ main: ManagedObjectContext) {
        self.context = context
        self.main = main
    }

    /// Saves the changes. When it returns, the main context has merged them.
    ///
    /// - Throws: The errors of `save()`: the changes remain, to be corrected and ended again, or dropped.
    public func end() throws {
        if try context.saveChanges() { try main.mergeAndProcess() }
    }

    /// Discards the changes. Releasing the transaction has the same effect.
    public func drop() { context.reset() }
}

extension ManagedObjectContext {
    /// Merges remote changes and notifies observers.
    func mergeAndProcess() throws {
        try mergeChanges()
        endMainActorTurn()
    }
}
