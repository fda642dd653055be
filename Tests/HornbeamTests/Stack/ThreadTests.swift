import Foundation
import Hornbeam
import HornbeamThreads
import Testing

/// A user's own actor on Hornbeam's threads.
private actor Importer {
    private let executor = ContextExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private let context: ManagedObjectContext

    init(_ container: PersistentContainer) { context = container.newContext() }

    func add(_ names: [String]) throws -> Int {
        for name in names { PEntity(context: context).name = name }
        try context.save()
        return try context.count(FetchRequest<PEntity>())
    }
}

/// A value that several threads write to.
private final class Shared<Value: Sendable>: Sendable {
    private let value: Guarded<Value>
    init(_ value: Value) { self.value = Guarded(value) }
    func change(_ body: (inout Value) -> Void) { value.withLock { body(&$0) } }
    var now: Value { value.withLock { $0 } }
}

@Suite struct ThreadTests {
    @Test("CON-6: any number of background tasks share a bounded number of threads", arguments: StoreKind.allCases)
    func manyBackgroundTasks(kind: StoreKind) async throws {
        let stack = try Parity.stack(kind)
        let container = stack.container
        let threads = Shared<Set<ObjectIdentifier>>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    try await container.performBackgroundTask { context in
                        threads.change { $0.insert(ObjectIdentifier(Thread.current)) }
                        PEntity(context: context).counter = Int32(number)
                        try context.save()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try stack.newContext().count(FetchRequest<PEntity>()) == 100)
        #expect(threads.now.count <= 32)
    }

    @Test("MOC-4: a task that was cancelled before its body began does not run it")
    func cancelledBeforeStart() async throws {
        let container = try Parity.stack(.inMemory).container
        let ran = Shared(false)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await container.performBackgroundTask { _ in ran.change { $0 = true } }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        let background = container.newBackgroundContext()
        let other = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await background.perform { _ in ran.change { $0 = true } }
        }
        await #expect(throws: CancellationError.self) { try await other.value }
        #expect(ran.now == false)
    }

    @Test("MOC-2: a background context keeps its objects from one perform to the next", arguments: StoreKind.allCases)
    func backgroundContextKeepsState(kind: StoreKind) async throws {
        let stack = try Parity.stack(kind)
        let background = stack.container.newBackgroundContext()
        try await background.perform { context in PEntity(context: context).name = "a" }
        #expect(try stack.newContext().count(FetchRequest<PEntity>()) == 0)
        let count = try await background.perform { context in
            try context.save()
            return try context.count(FetchRequest<PEntity>())
        }
        #expect(count == 1)
    }

    @Test("MOC-3: performAndWait is re-entrant, and waits for the work before it (context.014)")
    func performAndWaitIsReentrant() async throws {
        let background = try Parity.stack(.inMemory).container.newBackgroundContext()
        let order = Shared<[Int]>([])
        async let slow: Void = background.perform { _ in
            Thread.sleep(forTimeInterval: 0.05)
            order.change { $0.append(1) }
        }
        try await Task.sleep(for: .milliseconds(20))
        background.performAndWait { _ in
            background.performAndWait { _ in order.change { $0.append(2) } }
            order.change { $0.append(3) }
        }
        try await slow
        let inside = try await background.perform { _ in background.performAndWait { _ in 7 } }
        #expect(inside == 7)
        #expect(order.now == [1, 2, 3])
    }

    @Test("waiting for each other's contexts from all threads at once does not lock up")
    func crossWaitingDoesNotLockUp() async throws {
        let container = try Parity.stack(.inMemory).container
        let first = container.newBackgroundContext()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    try await container.performBackgroundTask { _ in
                        first.performAndWait { context in PEntity(context: context).name = "x" }
                    }
                }
            }
            try await group.waitForAll()
        }
        let count = try await first.perform { try $0.count(FetchRequest<PEntity>()) }
        #expect(count == 64)
    }

    @Test("any number of tasks may wait for a context whose work has not run yet")
    func waitingBehindQueuedWork() async throws {
        let container = try Parity.stack(.inMemory).container
        let background = container.newBackgroundContext()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<96 {
                if number % 3 == 0 {
                    group.addTask { try await background.perform { context in PEntity(context: context).name = "job" } }
                } else {
                    group.addTask {
                        try await container.performBackgroundTask { _ in
                            background.performAndWait { context in PEntity(context: context).name = "visitor" }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await background.perform { try $0.count(FetchRequest<PEntity>()) } == 96)
    }

    @Test("an actor of one's own may own a context", arguments: StoreKind.allCases)
    func actorOfOnesOwn(kind: StoreKind) async throws {
        let importer = Importer(try Parity.stack(kind).container)
        #expect(try await importer.add(["a", "b"]) == 2)
        #expect(try await importer.add(["c"]) == 3)
    }

    @Test("notify.010: did-save is posted before save returns", arguments: StoreKind.allCases)
    func didSaveComesBeforeReturn(kind: StoreKind) throws {
        let stack = try Parity.stack(kind)
        let context = stack.newContext()
        let posts = Posts(context, [ManagedObjectContext.didSaveObjectIDsNotification])
        PEntity(context: context).name = "a"
        try context.save()
        #expect(posts.names.count == 1)
    }

    // Eight contexts add to shared counters. After a conflict, they read and add again, so
    // the sums must equal the acknowledged increments: no update is lost without a report.
    @Test("saves from many threads lose no update without a report", arguments: StoreKind.allCases)
    func noLostUpdates(kind: StoreKind) async throws {
        let stack = try Parity.stack(kind)
        let ids = try stack.container.performAndWait { context in
            let counters = (0..<4).map { _ in PEntity(context: context) }
            for counter in counters { counter.counter = 0 }
            try context.save()
            return counters.map(\.objectID)
        }
        let container = stack.container
        let conflicts = Shared(0)
        let total = try await withThrowingTaskGroup(of: Int.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    let background = container.newBackgroundContext()
                    return try await background.perform { context in
                        var acknowledged = 0
                        for round in 0..<20 {
                            let id = ids[(worker + round) % ids.count]
                            let counter = try context.existingObject(PEntity.self, with: id)
                            counter.counter += 1
                            do {
                                try context.save()
                                acknowledged += 1
                            } catch let error as HornbeamError where error.code == .mergeConflict {
                                conflicts.change { $0 += 1 }
                                context.rollback()
                                try context.mergeChanges()
                            }
                        }
                        return acknowledged
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        let sum = try stack.newContext().fetch(FetchRequest<PEntity>()).map { Int($0.counter) }.reduce(0, +)
        #expect(sum == total, "\(conflicts.now) conflicts")
        #expect(total > 0)
    }
}
