public import Foundation
internal import HornbeamModel
internal import HornbeamThreads

/// Work with a context on an `OperationQueue`, with its dependencies and cancellation (ASY-4).
///
/// ```swift
/// let counting = ContextOperation(in: container) { context in try context.count(Book.self) }
/// counting.addDependency(ContextOperation(DeleteOldBooks(year: 1800), in: container))
/// ```
/// The work is a closure, a `ContextWork`, or an override of `performWork(in:)` in a subclass. It runs on a thread of the queue with a context of its
/// own, which is saved when it returns, unless the operation was cancelled. The same without a queue is `try await container.write { context in … }`.
///
/// Foundation declares operations as unchecked, so the compiler makes a subclass repeat `@unchecked Sendable`. A closure or a `ContextWork` is checked.
open class ContextOperation<Output: Sendable>: Operation, @unchecked Sendable {  // Its mutable field is guarded.
    /// The container of the contexts.
    public let container: PersistentContainer
    private let work: (@Sendable (ManagedObjectContext) throws -> Output)?
    private let finishing: (@Sendable (Result<Output, any Error>) -> Void)?
    private let outcome = Guarded<Result<Output, any Error>?>(nil)

    /// An operation of a subclass that overrides `performWork(in:)`.
    public init(in container: PersistentContainer) {
        self.container = container
        work = nil
        finishing = nil
    }

    /// An operation that runs a closure.
    public init(in container: PersistentContainer, _ work: @escaping @Sendable (ManagedObjectContext) throws -> Output) {
        self.container = container
        self.work = work
        finishing = nil
    }

    /// An operation that runs a `ContextWork`.
    public init(_ work: some ContextWork<Output>, in container: PersistentContainer) {
        self.container = container
        self.work = { try work.performWork(in: $0) }
        finishing = { work.finish($0) }
    }

    /// The result, or the error of the work or of the save; `CancellationError` after a cancellation; nil until the operation has ended.
    public final var result: Result<Output, any Error>? { outcome.withLock(\.self) }

    /// The result of the operation.
    ///
    /// - Throws: Its error; `unsupportedRequest` when the operation has not ended.
    public final func get() throws -> Output {
        guard let result else {
            throw HornbeamError(.unsupportedRequest, "The operation has not ended. Wait for it, or depend on it.")
        }
        return try result.get()
    }

    /// Does the work with a new context. Override it, unless the operation has a closure or a `ContextWork`.
    ///
    /// Nothing is saved when it throws, or when the operation is cancelled before the save.
    open func performWork(in context: ManagedObjectContext) throws -> Output {
        guard let work else { misuse("\(type(of: self)) has no work. Override performWork(in:).") }
        return try work(context)
    }

    /// Called once, after the save or the failure, on the thread of the operation. The default calls `finish` of the `ContextWork`.
    open func finish(_ result: Result<Output, any Error>) { finishing?(result) }

    /// Starts the operation. Called by the queue.
    public final override func start() {
        // Foundation does not call `main` for an operation that was cancelled before.
        if isCancelled { end(.failure(CancellationError())) }
        super.start()
        end(.failure(CancellationError()))
    }

    /// Runs the work. Called by `start`.
    public final override func main() { end(Result { try run() }) }

    /// Sets the first result.
    private func end(_ result: Result<Output, any Error>) {
        let isFirst = outcome.withLock { outcome in
            guard outcome == nil else { return false }
            outcome = result
            return true
        }
        if isFirst { finish(result) }
    }

    private func run() throws -> Output {
        guard !isCancelled else { throw CancellationError() }
        return try container.write { context in
            let output = try performWork(in: context)
            if isCancelled { throw CancellationError() }
            return output
        }
    }
}
