// Values that belong to a thread while it runs a function. Unlike a task-local value, tasks that the function starts do not inherit them.

internal import Glibc

/// A value for each thread that runs a function with one.
package final class PerThread<Value: Sendable>: Sendable {
    private let values = Guarded<[UInt: Value]>([:])

    package init() {}

    /// The value of the calling thread.
    package var current: Value? { values.withLock { $0[UInt(pthread_self())] } }

    /// Runs a body with a value for the calling thread.
    package func withValue<R>(_ value: Value, _ body: () throws -> R) rethrows -> R {
        let thread = UInt(pthread_self())
        let former = values.withLock { $0.updateValue(value, forKey: thread) }
        defer { values.withLock { $0[thread] = former } }
        return try body()
    }
}
