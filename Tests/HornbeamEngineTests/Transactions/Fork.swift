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

    /// The status of a child; −1 when it did not end by itself.
    static func end(_ child: pid_t) -> Int32 {
        var status: Int32 = -1
        guard waitpid(child, &status, 0) == child, status & 0x7F == 0 else { return -1 }
        return status >> 8 & 0xFF
    }

    static func run(_ body: () -> Int32) throws -> Int32 { end(try start(body)) }
}
