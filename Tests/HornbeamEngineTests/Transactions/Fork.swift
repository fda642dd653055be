import Foundation
import Glibc
import Synchronization
import Testing

/// Forks this process without an exec, which the C library's module hides.
enum Fork {
    private typealias Call = @convention(c) () -> pid_t

    /// A child. A thread waits for its end, so that it is no zombie while its parent does something else: as long as there is a zombie, the thread with
    /// which Swift Testing waits for exit tests does not sleep.
    final class Child: Sendable {
        let id: pid_t
        /// −1 if the child did not end by itself; nil before its end.
        private let status = Mutex<Int32?>(nil)

        fileprivate init(_ id: pid_t) {
            self.id = id
            Thread.detachNewThread {
                var status: Int32 = -1
                while waitpid(id, &status, 0) == -1, errno == EINTR {}
                self.status.withLock { $0 = status & 0x7F == 0 ? status >> 8 & 0xFF : -1 }
            }
        }

        /// The longest life of a child, in seconds. A child can wait forever for a lock that another thread of the parent had at the fork.
        private static let lifeMax = 240

        /// The status of the child; −1 if it did not end by itself, −2 if it was killed after `lifeMax`.
        func end() -> Int32 {
            for _ in 0..<Self.lifeMax * 1000 {
                if let status = status.withLock({ $0 }) { return status }
                usleep(1000)
            }
            kill(id, SIGKILL)
            return -2
        }
    }

    /// Runs a body in a child, which ends with the status that it returns, and starts work of the parent beside it.
    static func start(_ body: () -> Int32) throws -> Child {
        let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Call.self)
        let child = fork()
        try #require(child >= 0)
        if child == 0 { _exit(body()) }
        return Child(child)
    }

    static func run(_ body: () -> Int32) throws -> Int32 { try start(body).end() }
}
