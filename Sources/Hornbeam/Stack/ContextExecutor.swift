internal import Foundation
internal import HornbeamModel
internal import HornbeamThreads

/// A serial executor for one actor, on Hornbeam's own threads. These may block for the disk.
///
/// `BackgroundContext` uses one. Your own actor can use one, and then own a context:
///
/// ```swift
/// actor Importer {
///     private let executor = ContextExecutor()
///     nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
///     private let context: ManagedObjectContext
///     init(_ container: PersistentContainer) { context = container.newContext() }
/// }
/// ```
public final class ContextExecutor: SerialExecutor {
    private let state = Guarded(State())

    private enum Entry {
        /// A job of the actor.
        case job(UnownedJob)
        /// A thread that waits for its turn, to run its work itself.
        case waiter(Waiter)
    }

    private struct State {
        var queue: [Entry] = []
        var head = 0
        /// True while a thread runs queued work, or a waiting thread has its turn.
        var isBusy = false
        /// The thread that runs this executor's work now.
        var owner: ObjectIdentifier?
    }

    private final class Waiter: Sendable {
        let hasTurn = Guarded(false)
    }

    /// An executor without work.
    public init() {}

    /// Runs the job after all earlier jobs, on a thread of the executor.
    public func enqueue(_ job: consuming ExecutorJob) {
        append(.job(UnownedJob(job)))
    }

    /// True if the calling thread runs this executor's work now.
    public var isCurrent: Bool {
        let thread = ObjectIdentifier(Thread.current)
        return state.withLock { $0.owner == thread }
    }

    public func checkIsolated() {
        require(isCurrent, "This code must run on its context's executor; use perform or performAndWait.")
    }

    /// Runs the body on the calling thread when the earlier work is done. If the thread already
    /// runs this executor's work, runs the body immediately (MOC-3).
    public func runAndWait<Result>(_ body: () throws -> Result) rethrows -> Result {
        if isCurrent { return try body() }
        let waiter = Waiter()
        append(.waiter(waiter))
        waiter.hasTurn.wait { $0 ? () : nil }
        takeOwnership()
        defer {
            state.withLock { $0.owner = nil }
            passTurn()
        }
        return try body()
    }

    private func append(_ entry: Entry) {
        let starts = state.withLock { state in
            state.queue.append(entry)
            defer { state.isBusy = true }
            return !state.isBusy
        }
        if starts { passTurn() }
    }

    /// Starts the next entry, or marks the executor as idle.
    private func passTurn() {
        switch next() {
        case nil: break
        case .waiter(let waiter): resume(waiter)
        case .job(let job): WorkerThreads.executors.enqueue { [self] in drain(from: job) }
        }
    }

    private func resume(_ waiter: Waiter) {
        waiter.hasTurn.withLock { $0 = true }
        waiter.hasTurn.signal()
    }

    /// Runs jobs until the queue is empty, or until a waiting thread gets its turn.
    private func drain(from first: UnownedJob) {
        takeOwnership()
        var job = first
        while true {
            unsafe job.runSynchronously(on: asUnownedSerialExecutor())
            let following = state.withLock { state -> Entry? in
                let entry = Self.next(&state)
                if case .job = entry {} else { state.owner = nil }
                return entry
            }
            switch following {
            case nil: return
            case .waiter(let waiter): return resume(waiter)
            case .job(let next): job = next
            }
        }
    }

    private func takeOwnership() {
        let thread = ObjectIdentifier(Thread.current)
        state.withLock { $0.owner = thread }
    }

    private func next() -> Entry? { state.withLock { Self.next(&$0) } }

    private static func next(_ state: inout State) -> Entry? {
        guard state.head < state.queue.count else {
            state.queue.removeAll(keepingCapacity: true)
            state.head = 0
            state.isBusy = false
            return nil
        }
        defer { state.head += 1 }
        return state.queue[state.head]
    }
}
