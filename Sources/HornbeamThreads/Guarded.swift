// A value and its lock. The value is accessible only while the lock is held.

/// A value protected by a lock. Threads can wait until the value changes.
///
/// `@unchecked Sendable`: the value is accessed only while the monitor is locked.
@safe @usableFromInline package struct Guarded<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    @usableFromInline package let monitor: Monitor
    @usableFromInline package let value: UnsafeMutablePointer<Value>

    @inlinable
    package init(_ value: consuming sending Value, file: StaticString = #fileID, line: UInt = #line) {
        monitor = Monitor(file: file, line: line)
        unsafe self.value = .allocate(capacity: 1)
        unsafe self.value.initialize(to: value)
    }

    @inlinable
    deinit {
        unsafe value.deinitialize(count: 1)
        unsafe value.deallocate()
    }

    @inlinable
    package borrowing func withLock<Result: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending Result
    ) throws(E) -> sending Result {
        monitor.lock()
        defer { monitor.unlock() }
        return try unsafe body(&value.pointee)
    }

    /// Wakes one waiting thread.
    package borrowing func signal() { monitor.signal(.progress) }

    /// Blocks until the body returns a result. Calls `idle` with +1 before and with −1 after each wait, to count waiting threads.
    package borrowing func wait<Result>(
        _ body: (inout Value) -> Result?, idle: (inout Value, Int) -> Void = { _, _ in }
    ) -> Result {
        monitor.lock()
        defer { monitor.unlock() }
        while true {
            if let result = unsafe body(&value.pointee) { return result }
            unsafe idle(&value.pointee, 1)
            monitor.wait(.progress)
            unsafe idle(&value.pointee, -1)
        }
    }

    /// Blocks until the body returns a result, at most for the given time. Returns nil at its end.
    package borrowing func wait<Result>(milliseconds: Int, _ body: (inout Value) -> Result?) -> Result? {
        monitor.lock()
        defer { monitor.unlock() }
        if let result = unsafe body(&value.pointee) { return result }
        monitor.wait(.progress, milliseconds: milliseconds)
        return unsafe body(&value.pointee)
    }
}
