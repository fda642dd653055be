// A background thread of an engine, which calls the same work again and again. It keeps no reference to the engine between two calls.

import Glibc
import HornbeamThreads

/// A background thread. It runs until it is stopped, or until the engine is released.
@safe final class Maintenance: Sendable {
    private let monitor = Monitor()
    nonisolated(unsafe) private var isStopped = false  // guarded by the monitor
    nonisolated(unsafe) private var isAwake = false  // guarded by the monitor
    nonisolated(unsafe) private var thread: pthread_t?  // guarded by the monitor
    private let forks = ProcessForks.watch()
    /// False in tests that simulate a system without free threads.
    private let mayStart: @Sendable () -> Bool

    init(mayStart: @escaping @Sendable () -> Bool = { true }) { self.mayStart = mayStart }

    private final class Start: Sendable {
        let maintenance: Maintenance
        nonisolated(unsafe) weak var engine: Engine?  // set before the thread starts; weak references are atomic
        let work: @Sendable (Engine) -> Void
        init(_ maintenance: Maintenance, _ engine: Engine, _ work: @escaping @Sendable (Engine) -> Void) {
            self.maintenance = maintenance
            unsafe self.engine = engine
            self.work = work
        }
    }

    /// Starts the thread, which calls `work` every 20 ms and when it is woken. False if it was stopped before, or if no thread could be created.
    func start(_ engine: Engine, _ work: @escaping @Sendable (Engine) -> Void) -> Bool {
        monitor.withLock {
            if unsafe thread == nil, unsafe !isStopped, mayStart() { unsafe thread = makeThread(Start(self, engine, work)) }
            return unsafe thread != nil
        }
    }

    private func makeThread(_ start: Start) -> pthread_t? {
        let start = unsafe Unmanaged.passRetained(start).toOpaque()
        var id = pthread_t()
        let created = unsafe pthread_create(
            &id, nil,
            { argument in
                let start = unsafe Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
                while start.maintenance.waitForWork() { if let engine = unsafe start.engine { start.work(engine) } }
                return nil
            }, start)
        guard created == 0 else {
            unsafe Unmanaged<Start>.fromOpaque(start).release()
            return nil
        }
        return id
    }

    /// Waits until the thread is woken, or for 20 ms. False if the thread must end.
    private func waitForWork() -> Bool {
        monitor.withLock {
            if unsafe !isAwake, unsafe !isStopped { monitor.wait(.turn, milliseconds: 20) }
            unsafe isAwake = false
            return unsafe !isStopped
        }
    }

    func wake() {
        monitor.withLock {
            unsafe isAwake = true
            monitor.signalAll(.turn)
        }
    }

    /// Stops the thread, and waits for it unless it is the calling thread.
    func stop() {
        // A forked child does not have its parent's threads.
        guard forks == ProcessForks.count else { return }
        let running: pthread_t? = monitor.withLock {
            unsafe isStopped = true
            monitor.signalAll(.turn)
            defer { unsafe thread = nil }
            return unsafe thread
        }
        guard let running else { return }
        if pthread_equal(running, pthread_self()) != 0 {
            pthread_detach(running)
        } else {
            pthread_join(running, nil)
        }
    }
}
