// Parallel work on threads that take part in several pieces of it. Starting and ending a thread for each piece takes longer than waking one up.

internal import Glibc
internal import Synchronization

/// The owner's thread and its workers, which call a body with many numbers in parallel. Each takes the next number when it is done with the last one.
///
/// Only the owner calls the methods. The workers start with the first work and end with the team.
package final class ThreadTeam {
    private let workers: [Worker]
    private var work: TeamWork?

    /// A thread of an `Interleaving` gets no workers: their calls would be no part of the schedule.
    package init(workers: Int) {
        let count = Interleaving.current == nil ? max(workers, 0) : 0
        self.workers = (0..<count).map { _ in Worker() }
    }

    deinit {
        for worker in workers { worker.end() }
    }

    /// Lets the workers begin to call the body with each number in 0 ..< count. What the body uses must exist until `finish` has returned.
    @inline(never)
    package func begin(_ count: Int, _ body: @escaping (Int) -> Void) {
        let work = TeamWork(count, body)
        self.work = work
        for worker in workers { worker.begin(work) }
    }

    /// Calls the body with the remaining numbers, and returns when all calls have returned.
    @inline(never)
    package func finish() {
        guard let work else { return }
        work.run()
        for worker in workers { worker.finish() }
        self.work = nil
    }

    /// Calls the body in parallel with each number in 0 ..< count. Returns after all calls have returned.
    package func forEach(_ count: Int, _ body: (Int) -> Void) {
        withoutActuallyEscaping(body) { body in
            begin(count, body)
            finish()
        }
    }
}

private final class TeamWork {
    private let next = Atomic<Int>(0)
    private let count: Int
    private let body: (Int) -> Void

    init(_ count: Int, _ body: @escaping (Int) -> Void) {
        self.count = count
        self.body = body
    }

    func run() {
        while true {
            let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
            guard number < count else { return }
            body(number)
        }
    }
}

/// A thread that takes part in offered work, unless the work is done before the thread wakes up.
@safe private final class Worker {
    private enum State {
        static let idle = 0
        static let offered = 1
        static let working = 2
    }

    private let state = Atomic<Int>(State.idle)
    private let isEnding = Atomic<Bool>(false)
    /// Changed by the owner while the state is `idle` and by the thread while it is `working`; the semaphores order the changes.
    private var work: TeamWork?
    private let wakes: UnsafeMutablePointer<sem_t>
    private let isDone: UnsafeMutablePointer<sem_t>
    /// Nil before the first work, and if the system could not start a thread.
    private var thread: WorkThread?
    private var wasStarted = false
    /// The forks before the thread was started. A forked child does not have the thread.
    private let forks = ProcessForks.watch()

    init() {
        unsafe wakes = .allocate(capacity: 1)
        unsafe isDone = .allocate(capacity: 1)
        unsafe sem_init(wakes, 0, 0)
        unsafe sem_init(isDone, 0, 0)
    }

    deinit {
        unsafe sem_destroy(wakes)
        unsafe sem_destroy(isDone)
        unsafe wakes.deallocate()
        unsafe isDone.deallocate()
    }

    func begin(_ work: TeamWork) {
        if !wasStarted { startThread() }
        guard hasThread else { return }
        self.work = work
        state.store(State.offered, ordering: .releasing)
        unsafe sem_post(wakes)
    }

    private var hasThread: Bool { thread != nil && forks == ProcessForks.count }

    private func startThread() {
        wasStarted = true
        let thread = WorkThread { self.serve() }
        if thread.start() { self.thread = thread }
    }

    /// Withdraws the offer, or waits until the thread is done.
    func finish() {
        guard hasThread else { return }
        if state.compareExchange(expected: State.offered, desired: State.idle, ordering: .acquiringAndReleasing).exchanged {
            work = nil
        } else {
            unsafe Self.wait(isDone)
        }
    }

    func end() {
        guard let thread, hasThread else { return }
        isEnding.store(true, ordering: .releasing)
        unsafe sem_post(wakes)
        thread.join()
        self.thread = nil
    }

    private func serve() {
        while true {
            unsafe Self.wait(wakes)
            if isEnding.load(ordering: .acquiring) { return }
            // An offer may have been withdrawn before its wake-up, which then serves the next one.
            guard state.compareExchange(expected: State.offered, desired: State.working, ordering: .acquiringAndReleasing).exchanged else { continue }
            takePart()
            state.store(State.idle, ordering: .releasing)
            unsafe sem_post(isDone)
        }
    }

    /// A function of its own, so that no reference to the work is left when it returns.
    @inline(never)
    private func takePart() {
        let work = work
        self.work = nil
        work?.run()
    }

    private static func wait(_ semaphore: UnsafeMutablePointer<sem_t>) {
        while unsafe sem_wait(semaphore) != 0 {}
    }
}
