// One thread of an interleaving: its state, and the operations of monitors on it.

import Glibc

/// A thread that runs only while it has the turn.
///
/// `@unchecked Sendable`: only the thread that has the turn accesses its fields.
@safe final class InterleavedThread: @unchecked Sendable {
    enum State {
        case ready
        case waitsForLock(UInt, Monitor.Origin)
        /// `until`: the time in nanoseconds at which the wait ends without a signal.
        case waitsForSignal(UInt, Monitor.Origin, until: UInt64?)
        case ended
    }

    let number: Int
    let name: String
    let turn = TurnSemaphore()
    var state = State.ready
    private let body: @Sendable () throws -> Void
    let interleaving: Interleaving
    private var id = pthread_t()

    init(_ number: Int, _ part: Interleaving.Part, _ interleaving: Interleaving) {
        self.number = number
        name = part.name
        body = part.body
        self.interleaving = interleaving
    }

    var isReady: Bool { if case .ready = state { true } else { false } }
    var hasEnded: Bool { if case .ended = state { true } else { false } }
    /// The time at which the thread can continue without a signal; nil if there is none.
    var timeLimit: UInt64? { if case .waitsForSignal(_, _, let until) = state { until } else { nil } }
    /// The time in nanoseconds.
    var now: UInt64 { interleaving.now }

    /// The state of the thread in words, for a text that begins with its name.
    var place: String {
        switch state {
        case .ready: "can go on"
        case .waitsForLock(let lock, let origin):
            "waits for the lock made at \(origin)"
                + (interleaving.owners[lock].map { ", held by \(interleaving.threads[$0].name)" } ?? "")
        case .waitsForSignal(_, let origin, _): "waits for a signal to the lock made at \(origin)"
        case .ended: "has ended"
        }
    }

    // MARK: Life

    func start() {
        let status = unsafe pthread_create(
            &id, nil,
            { argument in
                unsafe Unmanaged<InterleavedThread>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        precondition(status == 0, "An interleaving could not start a thread.")
    }

    func join() { pthread_join(id, nil) }

    private func run() {
        Interleaving.setCurrent(self)
        turn.wait()
        do { try body() } catch { interleaving.recordFailure(error, of: self) }
        state = .ended
        interleaving.pass(from: self, reason: "has ended")
    }

    // MARK: Operations of monitors

    func point(_ place: StaticString) { interleaving.point(self, place) }

    func lock(_ monitor: Monitor) {
        let start = interleaving.censusTime
        interleaving.point(self, "a lock")
        acquire(monitor, since: start)
    }

    private func acquire(_ monitor: Monitor, since start: UInt64) {
        while !monitor.tryLock() {
            // A thread outside the interleaving holds the lock. It needs no turn to release it.
            guard interleaving.owners[monitor.address] != nil else {
                monitor.lockDirectly()
                break
            }
            state = .waitsForLock(monitor.address, monitor.origin)
            interleaving.pass(from: self, reason: "waits for the lock made at \(monitor.origin)")
        }
        interleaving.owners[monitor.address] = number
        interleaving.census?.take(.lock(monitor.address), monitor.origin.description, by: number, since: start)
        if interleaving.census != nil { interleaving.keep(monitor) }
    }

    func unlock(_ monitor: Monitor) {
        let end = interleaving.censusTime
        defer { interleaving.census?.release(.lock(monitor.address), at: end) }
        interleaving.owners[monitor.address] = nil
        monitor.unlockDirectly()
        for thread in interleaving.threads {
            if case .waitsForLock(monitor.address, _) = thread.state { thread.state = .ready }
        }
    }

    /// Waits for a signal, or with a limit at most for that number of nanoseconds.
    func wait(_ monitor: Monitor, _ condition: UInt, limit: Int? = nil) {
        let until = limit.map { interleaving.now + UInt64($0) }
        unlock(monitor)
        state = .waitsForSignal(condition, monitor.origin, until: until)
        interleaving.pass(from: self, reason: "waits for a signal to the lock made at \(monitor.origin)")
        acquire(monitor, since: interleaving.censusTime)
    }

    func signal(_ condition: UInt, all: Bool) {
        for thread in interleaving.threads {
            guard case .waitsForSignal(condition, _, _) = thread.state else { continue }
            thread.state = .ready
            if !all { return }
        }
    }
}

/// A semaphore that passes the turn to one thread.
@safe final class TurnSemaphore: Sendable {
    nonisolated(unsafe) private let cell: UnsafeMutablePointer<sem_t>  // fixed at init; a semaphore is thread-safe

    init() {
        unsafe cell = .allocate(capacity: 1)
        unsafe cell.initialize(to: sem_t())
        unsafe sem_init(cell, 0, 0)
    }

    deinit {
        unsafe sem_destroy(cell)
        unsafe cell.deallocate()
    }

    func signal() { unsafe sem_post(cell) }
    func wait() { while unsafe sem_wait(cell) != 0 {} }
}
