import Foundation
import Glibc
import Testing

/// Forks this process without an exec, which the C library's module hides.
enum Fork {
    private typealias Call = @convention(c) () -> pid_t

    /// Runs a body in a child, which ends with the status that it returns, and starts work of the parent beside it.
    static func start(_ body: () -> Int32) throws -> pid_t {
        let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Call.self)
        let child = fork()
        if child == 0 { _exit(body()) }
        return child
    }

    /// The longest life of a child, in seconds. A child can wait forever for a lock that another thread of the parent had at the fork.
    private static let lifeMax = 240

    /// The status of a child; −1 when it did not end by itself, −2 when it was killed after `lifeMax`.
    static func end(_ child: pid_t) -> Int32 {
        var status: Int32 = -1
        for _ in 0..<lifeMax * 1000 {
            switch waitpid(child, &status, WNOHANG) {
            case child: return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
            case 0: usleep(1000)
            default: return -1
            }
        }
        kill(child, SIGKILL)
        waitpid(child, &status, 0)
        return -2
    }

    static func run(_ body: () -> Int32) throws -> Int32 { end(try start(body)) }
}
