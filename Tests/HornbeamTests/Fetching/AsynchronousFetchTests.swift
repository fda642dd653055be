import Foundation
import HornbeamModel
import HornbeamStore
import HornbeamThreads
import Testing
@testable import Hornbeam

@Suite("Asynchronous fetches") struct AsynchronousFetchTests {
    private func stack(_ kind: StoreKind, _ count: Int = 500) throws -> Stack {
        let stack = try Parity.stack(kind)
        try stack.container.performAndWait { context in
            for number in 0..<count { PEntity(context: context).counter = Int32(number) }
            try context.save()
        }
        return stack
    }

    /// A request that is created while a progress is current.
    private func request(below whole: Progress) -> AsynchronousFetchRequest<PEntity> {
        whole.becomeCurrent(withPendingUnitCount: whole.totalUnitCount)
        defer { whole.resignCurrent() }
        return AsynchronousFetchRequest(FetchRequest<PEntity>(), estimatedResultCount: 500)
    }

    @Test("ASY-1: returns the results of a synchronous fetch, and does not block while it searches", arguments: StoreKind.allCases)
    @MainActor func givesTheSame(kind: StoreKind) async throws {
        let view = try stack(kind).container.viewContext
        let request = FetchRequest<PEntity>().where(try FetchPredicate(format: "counter >= 100")).sorted(by: "counter", ascending: false).limit(50)
        let asynchronous = AsynchronousFetchRequest(request)
        let found = try await view.fetch(asynchronous)
        #expect(try found == view.fetch(request))
        #expect(asynchronous.progress.fractionCompleted == 1)
    }

    @Test("ASY-1: unsaved changes of the context are included", arguments: StoreKind.allCases)
    @MainActor func unsavedChangesTakePart(kind: StoreKind) async throws {
        let view = try stack(kind).container.viewContext
        let new = PEntity(context: view)
        new.counter = 10_000
        let found = try await view.fetch(AsynchronousFetchRequest(FetchRequest<PEntity>().where(try FetchPredicate(format: "counter > 498"))))
        #expect(found.map(\.counter) == [499, 10_000])
    }

    @Test("ASY-1: if unsaved changes affect it, and in children, the fetch is executed at once, with the same progress and errors",
          arguments: StoreKind.allCases)
    @MainActor func carriedOutAtOnce(kind: StoreKind) async throws {
        let view = try stack(kind).container.viewContext
        let child = view.newChildContext()
        PEntity(context: view).counter = 10_000
        PEntity(context: child).counter = 20_000
        let request = FetchRequest<PEntity>().where(try FetchPredicate(format: "counter > 497")).sorted(by: "counter")
        for (context, expected) in [(view, [498, 499, 10_000]), (child, [498, 499, 10_000, 20_000])] {
            let asynchronous = AsynchronousFetchRequest(request)
            #expect(try await context.fetch(asynchronous).map { Int($0.counter) } == expected)
            #expect(asynchronous.progress.isFinished && asynchronous.progress.completedUnitCount == Int64(expected.count))
            let cancelled = AsynchronousFetchRequest(request)
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { _ = try await context.fetch(cancelled).count }
            let wrong = AsynchronousFetchRequest(FetchRequest<PEntity>(sortedBy: [FetchSort("colour")]))
            await #expect(throws: HornbeamError.self) { _ = try await context.fetch(wrong).count }
        }
    }

    @Test("ASY-1: the view context can call a completion instead of being awaited", arguments: StoreKind.allCases)
    @MainActor func completionIsCalled(kind: StoreKind) async throws {
        let view = try stack(kind).container.viewContext
        let counts = AsyncStream.makeStream(of: Int.self)
        view.fetch(AsynchronousFetchRequest(FetchRequest<PEntity>())) { result in
            MainActor.assertIsolated()
            counts.continuation.yield((try? result.get().count) ?? -1)
        }
        var iterator = counts.stream.makeAsyncIterator()
        #expect(await iterator.next() == 500)
    }

    @Test("ASY-2: the progress is a child of the current one, and counts against the estimate", arguments: StoreKind.allCases)
    @MainActor func progressIsReported(kind: StoreKind) async throws {
        let view = try stack(kind).container.viewContext
        let whole = Progress(totalUnitCount: 10)
        let request = request(below: whole)
        #expect(!request.progress.isIndeterminate && request.progress.totalUnitCount == 500)
        _ = try await view.fetch(request)
        #expect(request.progress.completedUnitCount == 500 && whole.fractionCompleted == 1)
        #expect(AsynchronousFetchRequest(FetchRequest<PEntity>()).progress.isIndeterminate)
    }

    @Test("ASY-3: a cancelled fetch throws, and the context stays usable", arguments: StoreKind.allCases)
    @MainActor func cancellingEnds(kind: StoreKind) async throws {
        let view = try stack(kind).container.viewContext
        let request = AsynchronousFetchRequest(FetchRequest<PEntity>())
        request.cancel()
        await #expect(throws: CancellationError.self) { _ = try await view.fetch(request).count }
        let whole = Progress(totalUnitCount: 1)
        let other = self.request(below: whole)
        whole.cancel()
        await #expect(throws: CancellationError.self) { _ = try await view.fetch(other).count }
        #expect(try view.count(FetchRequest<PEntity>()) == 500)
    }

    @Test("ASY-3: cancelling the task that waits ends the search", arguments: StoreKind.allCases)
    @MainActor func taskCancellationEnds(kind: StoreKind) async throws {
        let view = try stack(kind).container.viewContext
        let task = Task { @MainActor in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await view.fetch(AsynchronousFetchRequest(FetchRequest<PEntity>().where(try FetchPredicate(format: "counter >= 0")))).count
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("ASY-3: a running search stops at the next leaf")
    func searchStops() throws {
        let stack = try stack(.inMemory, 20_000)
        let context = stack.newContext()
        _ = try context.count(FetchRequest<PEntity>())
        let control = FetchControl { _ in }
        let seen = Guarded(0)
        let counting = FetchControl { found in seen.withLock { $0 = max($0, found) } }
        let request = FetchRequest<PEntity>().where(try FetchPredicate(format: "counter >= 0")).untyped
        let fetch = try ValidatedFetch(request, in: context.persistentStoreCoordinator.managedObjectModel)
        #expect(try context.readingSnapshot().fetch(fetch, control: counting).references.count == 20_000)
        #expect(seen.withLock { $0 } == 20_000)
        control.cancel()
        #expect(throws: CancellationError.self) { try context.readingSnapshot().fetch(fetch, control: control) }
    }
}
