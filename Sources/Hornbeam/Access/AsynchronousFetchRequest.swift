public import Foundation
public import HornbeamModel
internal import HornbeamStore

/// A fetch whose search runs on a thread of its own, so that whoever waits for it can do other work (ASY-1).
///
/// ```swift
/// let request = AsynchronousFetchRequest(FetchRequest<Book>().where("pages > 100"))
/// show(request.progress)
/// let books = try await context.fetch(request)
/// ```
/// May be cancelled from anywhere: by `cancel()`, by its `progress` or a parent of that, or with the task that waits. For one use.
public final class AsynchronousFetchRequest<Object: ManagedObject>: Sendable {
    /// The request to execute.
    public let request: FetchRequest<Object>
    /// The results expected; makes the progress a fraction (ASY-2).
    public let estimatedResultCount: Int
    /// How far the search is, in results found. Indeterminate without an estimate. A child of the progress that was current when
    /// the request was made.
    public let progress: Progress
    private let control: FetchControl

    /// Makes a fetch of its own for one execution. With an expected number of results, `progress` is a fraction.
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

    /// Ends the search; whoever waits for it gets `CancellationError` (ASY-3).
    public func cancel() { progress.cancel() }

    /// Searches on another thread.
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

    /// All that is to be found was found.
    func finish(_ count: Int) {
        if estimatedResultCount == 0 { progress.totalUnitCount = Int64(count) }
        progress.completedUnitCount = progress.totalUnitCount
    }

    func requireUncancelled() throws {
        if progress.isCancelled || control.isCancelled { throw CancellationError() }
    }
}

extension ManagedObjectContext {
    /// The objects that satisfy a request, as the plain `fetch` gives them, while the caller's actor is free for other work (ASY-1).
    ///
    /// Where unsaved changes of this context matter to the request, and in contexts with a parent, it is carried out at once. When the
    /// context changes while the search runs, the search begins again.
    /// - Throws: As `fetch`; `CancellationError` when it was cancelled.
    public nonisolated(nonsending) func fetch<Object: ManagedObject>(
        _ asynchronous: AsynchronousFetchRequest<Object>
    ) async throws -> [Object] {
        for _ in 0..<3 {
            try asynchronous.requireUncancelled()
            guard let (snapshot, fetch) = try searchable(asynchronous.request.untyped) else { break }
            let edits = edits
            let watch = FetchWatch(self)
            let answer = try await asynchronous.search(snapshot, fetch)
            guard self.edits == edits else { continue }
            note(answer.work, results: answer.rows.count, watch)
            let objects: [Object] = try finish(FoundObjects(answer), fetch.request)
            asynchronous.finish(objects.count)
            return objects
        }
        try asynchronous.requireUncancelled()
        let objects = try fetch(asynchronous.request)
        asynchronous.finish(objects.count)
        return objects
    }

    /// Fetches as the asynchronous `fetch` does, and hands the result to a closure on the main actor (ASY-1).
    ///
    /// For the view context. Returns at once.
    @MainActor public func fetch<Object: ManagedObject>(
        _ asynchronous: AsynchronousFetchRequest<Object>,
        completion: @escaping @MainActor (Result<[Object], any Error>) -> Void
    ) {
        require(role.isViewContext, "Only the view context lives on the main actor; await the fetch of any other.")
        Task { @MainActor in
            do { completion(.success(try await self.fetch(asynchronous))) } catch { completion(.failure(error)) }
        }
    }

    /// The state to search and the request checked; nil where the store alone does not have the answer.
    private func searchable(_ request: FetchDescription) throws -> (StackSnapshot, ValidatedFetch)? {
        try requireObjects(request)
        let fetch = try prepared(request)
        guard parent == nil, case .storeOnly = try pendingPlan(for: fetch) else { return nil }
        return (try readingSnapshot(), fetch)
    }
}
