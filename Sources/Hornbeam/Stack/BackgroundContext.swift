/// A context with a separate serial executor, for repeated work: imports, synchronisation, clean-up.
///
/// ```swift
/// let importer = container.newBackgroundContext()
/// let count = try await importer.perform { context in
///     for line in lines { Event(context: context).name = line }
///     try context.save()
///     return lines.count
/// }
/// ```
/// Calls run one after another, in the order of the calls. Results must be
/// `Sendable`: IDs and values are, objects and contexts are not. Source: MOC-1, CON-5.
public actor BackgroundContext {
    private let executor: ContextExecutor
    private let context: ManagedObjectContext
    private nonisolated let changeQueue: ChangeQueue
    /// The identity of this context, for contexts that merge its saves.
    public nonisolated let identity: ContextIdentity

    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(_ coordinator: PersistentStoreCoordinator) {
        executor = ContextExecutor()
        context = ManagedObjectContext(coordinator: coordinator)
        changeQueue = context.merging.changeQueue
        identity = context.identity
    }

    /// Makes the context merge each commit when it is idle, so that it does not hold an old snapshot.
    nonisolated func startMergingCommits() {
        let isDue = Flag()
        changeQueue.setCommitHandler { [weak self] in
            guard isDue.raise() else { return }
            Task {
                await self?.mergeWhileIdle()
                isDue.lower()
            }
        }
    }

    private func mergeWhileIdle() { context.becomeIdle() }

    /// Runs the body with the context, on the context's thread (MOC-2, MOC-4).
    ///
    /// - Throws: The errors of the body; `CancellationError` if the task was cancelled before the
    ///   body began. A running body is not interrupted.
    public func perform<Result: Sendable>(
        _ body: @Sendable (ManagedObjectContext) throws -> Result
    ) throws -> Result {
        try Task.checkCancellation()
        defer { context.endEvent() }
        return try body(context)
    }

    /// Runs the body with the context on the calling thread, after the earlier calls have returned.
    ///
    /// A call inside another `perform` or `performAndWait` of the same context
    /// runs immediately (MOC-3).
    public nonisolated func performAndWait<Result: Sendable>(
        _ body: @Sendable (ManagedObjectContext) throws -> Result
    ) rethrows -> Result {
        try executor.runAndWait {
            try assumeIsolated { actor in try body(actor.context) }
        }
    }
}
