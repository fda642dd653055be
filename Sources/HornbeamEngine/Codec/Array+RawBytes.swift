// Access to an array's bytes in a closure with typed errors. The standard library's methods erase the type of the error.

extension Array where Element == UInt8 {
    /// Calls a closure with the array's bytes, which are valid during the call only.
    package func withBytes<R, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> R
    ) throws(Failure) -> R {
        try unsafe span.bytes.withUnsafeBytes(body)
    }

    /// Calls a closure with the array's bytes, which it may change. They are valid during the call only.
    package mutating func withMutableBytes<R, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> R
    ) throws(Failure) -> R {
        var span = mutableSpan
        return try unsafe span.withUnsafeMutableBytes(body)
    }
}
