// Parallel work on threads that end with the work. They are POSIX threads, for the reason in Monitor.swift. Starting and ending a thread
// takes 20–40 µs, so the work must take much longer.

internal import Glibc

/// The processors of the machine, and parallel work on them.
package enum Cores {
    /// The number of processors.
    package static let count = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    /// Calls the body in parallel with each number in 0 ..< parts, 0 on the calling thread. Returns after all calls have returned.
    package static func share(_ parts: Int, _ body: (Int) -> Void) {
        guard parts > 1 else { return parts == 1 ? body(0) : () }
        withoutActuallyEscaping(body) { body in
            let threads = (1..<parts).map { part in WorkThread { body(part) } }
            let left = threads.indices.filter { !threads[$0].start() }
            body(0)
            // The parts for which the system could not start a thread.
            for index in left { body(index + 1) }
            for thread in threads { thread.join() }
        }
    }
}

/// A thread for one piece of work.
package final class WorkThread {
    private let work: () -> Void
    private var thread = pthread_t()
    private var isStarted = false

    package init(_ work: @escaping () -> Void) { self.work = work }

    /// Starts the work; false if the system could not start a thread.
    package func start() -> Bool {
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        isStarted = unsafe pthread_create(
            &thread, nil,
            { argument in
                if let argument = unsafe argument { unsafe Unmanaged<WorkThread>.fromOpaque(argument).takeUnretainedValue().work() }
                return nil
            }, this) == 0
        return isStarted
    }

    /// Waits for the end of the work, if it was started.
    package func join() {
        guard isStarted else { return }
        pthread_join(thread, nil)
        isStarted = false
    }
}
