extension [UInt8] {
    /// Like `withUnsafeBytes`, for a body with typed throws.
    @inline(__always)
    func withRawBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        let result = unsafe withUnsafeBytes { bytes -> Result<R, E> in
            Result { () throws(E) -> R in unsafe try body(bytes) }
        }
        return try result.get()
    }
}
