// Work that the calling thread shares with threads that live only for it. POSIX threads, for the reason that Monitor gives; a thread
// costs 20–40 µs to start and end, so what is shared must take a good deal longer.

internal import Glibc

/// The processors of the machine, and work that is shared among them.
package enum Cores {
    /// How many processors there are.
    package static let count = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    /// Calls the body with 0 ..< parts at the same time and returns when all calls have; 0 on the calling thread.
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

/// One part of the work and the thread that does it.
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

    /// Waits for the thread; does its part where the system had no thread to give.
    func finish() {
        if isStarted { pthread_join(thread, nil) } else { run() }
    }
}
