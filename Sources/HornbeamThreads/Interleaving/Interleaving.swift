// Runs threads one at a time, in an order that a schedule determines. Every lock, every wait for a condition and every
// named point in the code is a scheduling point, at which another thread may run. A race, a lost wake-up or a deadlock
// that needs a rare timing can thus be produced and repeated.
//
// Time is simulated: each point takes a microsecond. When all threads wait, the time passes until the first limit of a wait.
//
// Invariant: only the thread that has the turn accesses an interleaving or its threads. Semaphores pass the turn.
// Other threads of the process do not take part; each lock costs them one atomic load.

import Glibc
import Synchronization

/// Threads that run in turns.
///
/// `@unchecked Sendable`: only the thread that has the turn accesses it, see above.
@safe package final class Interleaving: @unchecked Sendable {
    /// The name and the body of one thread.
    package struct Part: Sendable {
        let name: String
        let body: @Sendable () throws -> Void

        package init(_ name: String, _ body: @escaping @Sendable () throws -> Void) { (self.name, self.body) = (name, body) }
    }

    /// A change of the turn from one thread to another.
    package struct Switch: Sendable, CustomStringConvertible {
        let point: Int
        let from: String
        let to: String
        let reason: String
        package var description: String { "\(point): \(from) \(reason), \(to) goes on" }
    }

    /// The outcome of an interleaving.
    package struct Outcome: Sendable {
        /// The number of points at which a preemption was possible.
        package var points = 0
        package var switches: [Switch] = []
        /// The reason why the run was stopped: no thread could continue, or the threads did not end. Nil if all ended.
        package var stopReason: String?
        /// The errors of the bodies, by name.
        package var failures: [(name: String, error: any Error)] = []
        /// The locks that the threads took, if they were counted.
        package var locks: LockCensus?
    }

    /// The number of interleavings in the process. While it is 0, a lock does not look for the thread's interleaving.
    private static let underWay = Atomic<Int>(0)
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        precondition(unsafe pthread_key_create(&key, nil) == 0, "The process has too many thread-specific keys.")
        return key
    }()

    /// The maximum number of points. A run with more points is stopped as endless.
    private static let pointsMax = 1_000_000

    private let schedule: Schedule
    /// The preemptions that are still to come.
    private var preemptions: ArraySlice<Schedule.Preemption>
    private var random: UInt64
    var threads: [InterleavedThread] = []
    /// The number of the thread that holds a lock, by the lock's address.
    var owners: [UInt: Int] = [:]
    var census: LockCensus?
    /// Locks that were counted. While they exist, no other lock gets the address of one of them.
    private var countedLocks: [ObjectIdentifier: Monitor] = [:]
    private var outcome = Outcome()
    /// The time of the threads, in nanoseconds of the monotonic clock.
    private(set) var now: UInt64 = 0
    private static let nanosecondsPerPoint: UInt64 = 1000
    private let end = TurnSemaphore()

    /// Call this before you make the objects that the threads use: for speed, some objects read `isUnderWay` only once.
    package init(_ schedule: Schedule, countsLocks: Bool = false) {
        self.schedule = schedule
        census = countsLocks ? LockCensus() : nil
        preemptions = schedule.preemptions[...]
        random = schedule.seed
        Interleaving.underWay.wrappingAdd(1, ordering: .sequentiallyConsistent)
    }

    deinit { Interleaving.underWay.wrappingSubtract(1, ordering: .sequentiallyConsistent) }

    /// Runs each part on its own thread until all have ended or none can continue. If the run is stopped, its threads
    /// are not ended. Called once.
    package func run(_ parts: [Part]) -> Outcome {
        precondition(threads.isEmpty, "An interleaving runs once.")
        now = MonotonicClock.systemNanoseconds
        threads = parts.enumerated().map { InterleavedThread($0.offset, $0.element, self) }
        for thread in threads { thread.start() }
        pass(from: nil, reason: "")
        end.wait()
        if outcome.stopReason == nil {
            for thread in threads { thread.join() }
            threads = []
        }
        outcome.locks = census
        return outcome
    }

    // MARK: The calling thread

    /// The calling thread if it belongs to an interleaving; nil for other threads.
    @inline(__always)
    static var current: InterleavedThread? {
        guard underWay.load(ordering: .relaxed) > 0, let thread = unsafe pthread_getspecific(key) else { return nil }
        return unsafe Unmanaged<InterleavedThread>.fromOpaque(thread).takeUnretainedValue()
    }

    static func setCurrent(_ thread: InterleavedThread) {
        unsafe pthread_setspecific(key, Unmanaged.passUnretained(thread).toOpaque())
    }

    /// True while an interleaving exists in the process.
    package static var isUnderWay: Bool { underWay.load(ordering: .relaxed) > 0 }

    /// A scheduling point, for code that synchronises threads with atomics. Does nothing outside an interleaving.
    package static func point(_ place: StaticString) { current?.point(place) }

    // MARK: Locks

    /// The time, if locks are counted.
    var censusTime: UInt64 { census == nil ? 0 : MonotonicClock.systemNanoseconds }

    func keep(_ monitor: Monitor) { countedLocks[ObjectIdentifier(monitor)] = monitor }

    /// The calling thread begins work that one thread does at a time without holding a lock. Does nothing outside an interleaving.
    package static func beginExclusiveWork(_ name: String) {
        guard let thread = current else { return }
        let start = thread.interleaving.censusTime
        thread.interleaving.census?.take(.work(name), name, by: thread.number, since: start)
    }

    /// The end of the work.
    package static func endExclusiveWork(_ name: String) {
        guard let interleaving = current?.interleaving else { return }
        let end = interleaving.censusTime
        interleaving.census?.release(.work(name), at: end)
    }

    // MARK: Turns

    /// A scheduling point: the running thread continues, or a preemption passes the turn to another thread.
    func point(_ thread: InterleavedThread, _ place: StaticString) {
        now += Interleaving.nanosecondsPerPoint
        let others = ready(after: thread)
        guard !others.isEmpty else { return }
        defer { outcome.points += 1 }
        guard outcome.points < Interleaving.pointsMax else {
            return stop(thread, "after \(outcome.points) points the threads still go on:\n" + stateDescriptions())
        }
        guard let next = preemptions.first, next.point == outcome.points else { return }
        preemptions.removeFirst()
        startTurn(to: others[next.target % others.count], from: thread, reason: "is stopped at \(place)")
        thread.turn.wait()
    }

    /// Passes the turn to another thread, because the running thread waits or has ended.
    func pass(from thread: InterleavedThread?, reason: String) {
        var candidates = ready(after: thread)
        if candidates.isEmpty, let waiting = firstLimit() {
            waiting.state = .ready
            candidates = [waiting]
        }
        if candidates.isEmpty {
            if threads.contains(where: { !$0.hasEnded }) { return stop(thread, "no thread can go on:\n" + stateDescriptions()) }
            return end.signal()
        }
        // Evaluated before the turn is passed on: the next thread may write any thread's state.
        let hasEnded = thread?.hasEnded ?? true
        startTurn(to: candidates[choice(candidates.count)], from: thread, reason: reason)
        if let thread, !hasEnded { thread.turn.wait() }
    }

    /// Lets the time pass until the first limit of a wait. Returns the thread whose wait ends; nil if no thread waits with a limit.
    private func firstLimit() -> InterleavedThread? {
        let limits = threads.compactMap { thread in thread.timeLimit.map { (thread, $0) } }
        guard let (thread, limit) = limits.min(by: { $0.1 < $1.1 }) else { return nil }
        now = max(now, limit)
        return thread
    }

    func recordFailure(_ error: any Error, of thread: InterleavedThread) { outcome.failures.append((thread.name, error)) }

    private func startTurn(to next: InterleavedThread, from thread: InterleavedThread?, reason: String) {
        if let thread {
            outcome.switches.append(Switch(point: outcome.points, from: thread.name, to: next.name, reason: reason))
        }
        next.turn.signal()
    }

    private func ready(after thread: InterleavedThread?) -> [InterleavedThread] {
        let first = thread.map { $0.number + 1 } ?? 0
        var list: [InterleavedThread] = []
        for i in 0..<threads.count {
            let other = threads[(first + i) % threads.count]
            if other !== thread, other.isReady { list.append(other) }
        }
        return list
    }

    private func choice(_ count: Int) -> Int {
        guard schedule.seed != 0 else { return 0 }
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(random >> 33) % count
    }

    /// Stops the run. The threads remain blocked.
    private func stop(_ thread: InterleavedThread?, _ why: String) {
        outcome.stopReason = why
        end.signal()
        thread?.turn.wait()
    }

    private func stateDescriptions() -> String {
        threads.map { "  \($0.name) \($0.place)" }.joined(separator: "\n")
    }
}
