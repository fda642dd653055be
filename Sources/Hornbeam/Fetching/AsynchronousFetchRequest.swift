public import Foundation
public import HornbeamModel
internal import HornbeamStore

/// A fetch whose search runs on another thread, while the calling task waits without blocking (ASY-1).
///
/// ```swift
/// let request = AsynchronousFetchRequest(FetchRequest<Book>().where("pages > 100"))
/// show(request.progress)
/// let books = try await context.fetch(request)
/// ```
/// It can be cancelled from any thread: by `cancel()`, by cancelling its `progress` or a parent of that, or by cancelling the task. Use it once.
public final class AsynchronousFetchRequest<Object: ManagedObject>: Sendable {
    /// The request to execute.
    public let request: FetchRequest<Object>
    /// The expected number of results. With it, the progress is a fraction (ASY-2).
    public let estimatedResultCount: Int
    /// The progress of the search: the number of results found. Indeterminate without an estimate. A child of the current progress of the
    /// thread that created the request.
    public let progress: Progress
    private let control: FetchControl

    /// A request for one execution. With an expected number of results, `progress` is a fraction.
    public init(_ request: FetchRequest<Object>, estimatedResultCount: Int = 0) {
        self.request = request
        self.estimatedResultCount = estimatedResultCount
        let progress = Progress(totalUnitCount: estimatedResultCount > 0 ? Int64(estimatedResultCount) : -1)
        let control = FetchControl { found in
            progress.completedUnitCount = estimatedResultCount > 0 ? Int64(min(found, estimatedResultCount)) : Int64(found)
        }
        progress.cancellationHandler = { control.cancel() }
        self.progress = progress
        self.control = control
    }

    /// Cancels the search. The waiting task receives `CancellationError` (ASY-3).
    public func cancel() { progress.cancel() }

    /// Executes the search on another thread, and waits for it without blocking.
    nonisolated(nonsending) func search(_ snapshot: StackSnapshot, _ fetch: ValidatedFetch) async throws -> FetchAnswer {
        let control = control
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                WorkerThreads.tasks.enqueue {
                    continuation.resume(with: Result { try snapshot.fetch(fetch, control: control) })
                }
            }
        } onCancel: {
            control.cancel()
        }
    }

    /// Completes the progress.
    func finish(_ count: Int) {
        if estimatedResultCount == 0 { progress.totalUnitCount = Int64(count) }
        progress.completedUnitCount = progress.totalUnitCount
    }

    /// Lets the store that answers queries find the results on another thread. Nil if it has not answered.
    nonisolated(nonsending) func search(_ store: Store, _ fetch: ValidatedFetch) async throws -> [ObjectReference]? {
        let control = control
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                WorkerThreads.tasks.enqueue {
                    continuation.resume(
                        with: Result {
                            try StoreCancellation.working(forTaskThatIsCancelled: { control.isCancelled }) {
                                guard case .found(let references) = try store.answer(fetch, excluding: []) else { return nil }
                                return references
                            }
                        })
                }
            }
        } onCancel: {
            control.cancel()
        }
    }

    func requireUncancelled() throws {
        if progress.isCancelled || control.isCancelled { throw CancellationError() }
    }
}

extension ManagedObjectContext {
    /// The objects that satisfy a request, like the synchronous `fetch`, but without blocking the caller's actor (ASY-1).
    ///
    /// The search runs on the calling thread if unsaved changes of this context affect the request, in contexts with a parent, for a request that a store
    /// with its own queries does not answer, and beside such a store. If the context changes during the search, the search starts again.
    /// - Throws: The errors of `fetch`; `CancellationError` after a cancellation.
    public nonisolated(nonsending) func fetch<Object: ManagedObject>(
        _ asynchronous: AsynchronousFetchRequest<Object>
    ) async throws -> [Object] {
        for _ in 0..<3 {
            try asynchronous.requireUncancelled()
            guard let fetch = try searchable(asynchronous.request.untyped) else { break }
            let edits = edits
            let found: FoundObjects
            if let store = stack.queryingStore(for: fetch.request) {
                guard let references = try await asynchronous.search(store, fetch) else { break }
                guard self.edits == edits else { continue }
                try advance()
                found = FoundObjects(try readingSnapshot().answer(references).rows)
            } else {
                let watch = FetchTimer(self)
                let answer = try await asynchronous.search(readingSnapshot(), fetch)
                guard self.edits == edits else { continue }
                note(answer.work, results: answer.rows.count, watch)
                found = FoundObjects(answer.rows)
            }
            let objects: [Object] = try finish(found, fetch.request)
            asynchronous.finish(objects.count)
            return objects
        }
        try asynchronous.requireUncancelled()
        let objects = try fetch(asynchronous.request)
        asynchronous.finish(objects.count)
        return objects
    }

    /// Executes a request like the asynchronous `fetch`, and passes the result to a closure on the main actor (ASY-1).
    ///
    /// For the view context. Returns immediately.
    @MainActor public func fetch<Object: ManagedObject>(
        _ asynchronous: AsynchronousFetchRequest<Object>,
        completion: @escaping @MainActor (Result<[Object], any Error>) -> Void
    ) {
        require(role.isViewContext, "A fetch with a completion closure needs the view context. Use the asynchronous fetch in other contexts.")
        Task { @MainActor in
            do { completion(.success(try await self.fetch(asynchronous))) } catch { completion(.failure(error)) }
        }
    }

    /// The validated request; nil if unsaved changes affect the request, in a child context, and for several reads of one state.
    private func searchable(_ request: FetchDescription) throws -> ValidatedFetch? {
        try requireObjects(request)
        let fetch = try prepared(request)
        guard parent == nil, !stack.hasQueryingStoreBesideOthers, case .storeOnly = try pendingPlan(for: fetch) else { return nil }
        return stack.queryingStore == nil || request.relationshipKeyPathsForPrefetching.isEmpty ? fetch : nil
    }
}
