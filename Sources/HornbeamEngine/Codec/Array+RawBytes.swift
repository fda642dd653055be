// An array's bytes lent to a closure with a typed error. The standard library's methods erase the type of the error.

extension Array where Element == UInt8 {
    /// Lends the array's bytes.
    package func withBytes<R, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> R
    ) throws(Failure) -> R {
        try unsafe span.bytes.withUnsafeBytes(body)
    }

    /// Lends the array's bytes for change.
    package mutating func withMutableBytes<R, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> R
    ) throws(Failure) -> R {
        var span = mutableSpan
        return try unsafe span.withUnsafeMutableBytes(body)
    }
}
