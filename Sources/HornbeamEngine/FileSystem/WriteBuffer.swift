// Memory aligned for the device, reused for every write of a log or an appender.

/// A block of raw memory that lives as long as the object.
///
/// Unchecked: whoever holds it keeps it in a mutex together with what describes its content.
@safe final class WriteBuffer: @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer

    init(bytes: Int) {
        unsafe memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes, alignment: 4096)
    }

    deinit { unsafe memory.deallocate() }

    var count: Int { unsafe memory.count }

    /// A part of the memory; the caller must not keep it longer than the buffer.
    subscript(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(rebasing: memory[range])
    }
}

/// The unit in which devices write: bytes that share one with later writes are written twice.
enum DeviceBlock {
    static let bytes: UInt64 = 4096
}
