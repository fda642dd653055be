internal import Foundation

/// A value behind a lock that threads can also wait on.
///
/// `@unchecked Sendable`: `value` is touched only while `condition` is locked.
final class Guarded<Value>: @unchecked Sendable {
    private let condition = NSCondition()
    private var value: Value

    init(_ value: sending Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        condition.lock()
        defer { condition.unlock() }
        return try body(&value)
    }

    /// Wakes one waiting thread.
    func signal() { condition.signal() }

    /// Wakes every waiting thread.
    func broadcast() { condition.broadcast() }

    /// Blocks until the body gives a result. `idle` is told +1 before and −1 after each sleep.
    func wait<Result>(
        _ body: (inout Value) -> Result?, idle: (inout Value, Int) -> Void = { _, _ in }
    ) -> Result {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let result = body(&value) { return result }
            idle(&value, 1)
            condition.wait()
            idle(&value, -1)
        }
    }
}
