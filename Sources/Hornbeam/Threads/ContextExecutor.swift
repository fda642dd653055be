internal import Foundation
internal import HornbeamModel
internal import HornbeamThreads

/// Runs one actor's work in order on Hornbeam's own threads, where blocking for the disk is allowed.
///
/// `BackgroundContext` uses one. An actor of your own can adopt one, and then own a context:
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
        /// A thread that waits for its turn and runs its work itself.
        case visitor(Visitor)
    }

    private struct State {
        var queue: [Entry] = []
        var head = 0
        /// True while a thread drains the queue or a visitor has the turn.
        var isBusy = false
        /// The thread that works for this executor now.
        var owner: ObjectIdentifier?
    }

    private final class Visitor: Sendable {
        let hasTurn = Guarded(false)
    }

    /// An executor without work.
    public init() {}

    /// Runs the job after all earlier jobs, on a thread of the executor.
    public func enqueue(_ job: consuming ExecutorJob) {
        append(.job(UnownedJob(job)))
    }

    /// True when the calling thread is the one that works for this executor now.
    public var isCurrent: Bool {
        let thread = ObjectIdentifier(Thread.current)
        return state.withLock { $0.owner == thread }
    }

    public func checkIsolated() {
        require(isCurrent, "This code must run on its context's executor; use perform or performAndWait.")
    }

    /// Runs the body in the executor's turn on the calling thread, and waits for that turn; at once
    /// when the calling thread has it already (MOC-3).
    public func runAndWait<Result>(_ body: () throws -> Result) rethrows -> Result {
        if isCurrent { return try body() }
        let visitor = Visitor()
        append(.visitor(visitor))
        visitor.hasTurn.wait { $0 ? () : nil }
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

    /// Gives the turn to the next entry, or rests.
    private func passTurn() {
        switch next() {
        case nil: break
        case .visitor(let visitor): admit(visitor)
        case .job(let job): WorkerThreads.executors.enqueue { [self] in drain(from: job) }
        }
    }

    private func admit(_ visitor: Visitor) {
        visitor.hasTurn.withLock { $0 = true }
        visitor.hasTurn.signal()
    }

    /// Runs jobs until there are none or a visitor's turn comes.
    private func drain(from first: UnownedJob) {
        takeOwnership()
        var job = first
        while true {
            job.runSynchronously(on: asUnownedSerialExecutor())
            let following = state.withLock { state -> Entry? in
                let entry = Self.next(&state)
                if case .job = entry {} else { state.owner = nil }
                return entry
            }
            switch following {
            case nil: return
            case .visitor(let visitor): return admit(visitor)
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
