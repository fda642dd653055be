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
            let helpers = (1..<parts).map { Helper(part: $0, body: body) }
            for helper in helpers { helper.start() }
            body(0)
            for helper in helpers { helper.finish() }
        }
    }
}

/// One part of the work and the thread that executes it.
private final class Helper {
    private let part: Int
    private let body: (Int) -> Void
    private var thread = pthread_t()
    private var isStarted = false

    init(part: Int, body: @escaping (Int) -> Void) {
        self.part = part
        self.body = body
    }

    func start() {
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        isStarted = unsafe pthread_create(
            &thread, nil,
            { argument in
                if let argument = unsafe argument { unsafe Unmanaged<Helper>.fromOpaque(argument).takeUnretainedValue().run() }
                return nil
            }, this) == 0
    }

    private func run() { body(part) }

    /// Waits for the thread. If the system could not start a thread, executes the part on the calling thread.
    func finish() {
        if isStarted { pthread_join(thread, nil) } else { run() }
    }
}
