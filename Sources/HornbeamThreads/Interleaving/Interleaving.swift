// Runs threads one at a time, in an order that follows from a schedule: every lock, every condition and every point
// that code names is a place where another thread may go on. So a race, a lost wake-up or a deadlock that needs an
// unlucky moment happens at will, and again.
//
// Invariant: only the thread that has the turn touches an interleaving or its threads; the turn passes through
// semaphores. Other threads of the process take no part, and pay one load of an atomic at each lock.

import Glibc
import Synchronization

/// Threads that take turns.
///
/// `@unchecked Sendable`: touched by the thread that has the turn, see above.
@safe package final class Interleaving: @unchecked Sendable {
    /// One of the threads.
    package struct Part: Sendable {
        let name: String
        let body: @Sendable () throws -> Void

        package init(_ name: String, _ body: @escaping @Sendable () throws -> Void) { (self.name, self.body) = (name, body) }
    }

    /// The turn went from one thread to another.
    package struct Switch: Sendable, CustomStringConvertible {
        let point: Int
        let from: String
        let to: String
        let reason: String
        package var description: String { "\(point): \(from) \(reason), \(to) goes on" }
    }

    /// The outcome of an interleaving.
    package struct Outcome: Sendable {
        /// The places where a preemption was possible.
        package var points = 0
        package var switches: [Switch] = []
        /// Why no thread could go on, or why all went on for ever; nil if all ended.
        package var stuck: String?
        /// The errors of the bodies, by name.
        package var failures: [(name: String, error: any Error)] = []
    }

    /// Interleavings under way in the process: while there is none, no thread looks for its own.
    private static let underWay = Atomic<Int>(0)
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        precondition(unsafe pthread_key_create(&key, nil) == 0, "The process has too many thread-specific keys.")
        return key
    }()

    /// A schedule that goes on longer than this many points goes on for ever.
    private static let pointsMax = 1_000_000

    private let schedule: Schedule
    /// Those still to come.
    private var preemptions: ArraySlice<Schedule.Preemption>
    private var random: UInt64
    var threads: [InterleavedThread] = []
    /// Which thread holds a lock, by the lock's address.
    var owners: [UInt: Int] = [:]
    private var outcome = Outcome()
    private let end = TurnSemaphore()

    /// Make the objects of an interleaving after this call: some read `isUnderWay` only once, for speed.
    package init(_ schedule: Schedule) {
        self.schedule = schedule
        preemptions = schedule.preemptions[...]
        random = schedule.seed
        Interleaving.underWay.wrappingAdd(1, ordering: .sequentiallyConsistent)
    }

    deinit { Interleaving.underWay.wrappingSubtract(1, ordering: .sequentiallyConsistent) }

    /// Runs the parts on threads of their own until all have ended or none can go on; the threads of a run that is
    /// stuck stay behind. Called once.
    package func run(_ parts: [Part]) -> Outcome {
        precondition(threads.isEmpty, "An interleaving runs once.")
        threads = parts.enumerated().map { InterleavedThread($0.offset, $0.element, self) }
        for thread in threads { thread.start() }
        pass(from: nil, reason: "")
        end.wait()
        if outcome.stuck == nil {
            for thread in threads { thread.join() }
            threads = []
        }
        return outcome
    }

    // MARK: The calling thread

    /// The calling thread as one of an interleaving; nil for all other threads.
    @inline(__always)
    static var current: InterleavedThread? {
        guard underWay.load(ordering: .relaxed) > 0, let thread = unsafe pthread_getspecific(key) else { return nil }
        return unsafe Unmanaged<InterleavedThread>.fromOpaque(thread).takeUnretainedValue()
    }

    static func adopt(_ thread: InterleavedThread) {
        unsafe pthread_setspecific(key, Unmanaged.passUnretained(thread).toOpaque())
    }

    /// True while there is any interleaving in the process.
    package static var isUnderWay: Bool { underWay.load(ordering: .relaxed) > 0 }

    /// A place where another thread may go on; for hand-overs by atomics. Does nothing outside of an interleaving.
    package static func point(_ place: StaticString) { current?.point(place) }

    // MARK: Turns

    /// A place where the running thread can go on and another may.
    func point(_ thread: InterleavedThread, _ place: StaticString) {
        let others = ready(after: thread)
        guard !others.isEmpty else { return }
        defer { outcome.points += 1 }
        guard outcome.points < Interleaving.pointsMax else {
            return stop(thread, "after \(outcome.points) points the threads still go on:\n" + places())
        }
        guard let next = preemptions.first, next.point == outcome.points else { return }
        preemptions.removeFirst()
        give(to: others[next.target % others.count], from: thread, reason: "is stopped at \(place)")
        thread.turn.wait()
    }

    /// The running thread waits, or has ended: another goes on.
    func pass(from thread: InterleavedThread?, reason: String) {
        let candidates = ready(after: thread)
        if candidates.isEmpty {
            if threads.contains(where: { !$0.hasEnded }) { return stop(thread, "no thread can go on:\n" + places()) }
            return end.signal()
        }
        // Evaluated before the turn is passed on: the next thread may write any thread's state.
        let hasEnded = thread?.hasEnded ?? true
        give(to: candidates[choice(candidates.count)], from: thread, reason: reason)
        if let thread, !hasEnded { thread.turn.wait() }
    }

    func note(_ error: any Error, of thread: InterleavedThread) { outcome.failures.append((thread.name, error)) }

    private func give(to next: InterleavedThread, from thread: InterleavedThread?, reason: String) {
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

    /// Ends the run with the threads where they are.
    private func stop(_ thread: InterleavedThread?, _ why: String) {
        outcome.stuck = why
        end.signal()
        thread?.turn.wait()
    }

    private func places() -> String {
        threads.map { "  \($0.name) \($0.place)" }.joined(separator: "\n")
    }
}
