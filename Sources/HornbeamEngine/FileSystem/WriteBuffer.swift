// Memory aligned for the device, reused for every write of a log or an appender.

/// A block of raw memory that lives as long as the object.
///
/// Unchecked: the owner keeps it behind the lock that guards the description of its content.
@safe final class WriteBuffer: @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer

    init(bytes: Int) {
        unsafe memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes, alignment: 4096)
    }

    deinit { unsafe memory.deallocate() }

    var count: Int { unsafe memory.count }

    /// A part of the memory, valid while the buffer lives.
    subscript(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(rebasing: memory[range])
    }
}

/// The unit in which devices write. A block that later writes share is written twice.
enum DeviceBlock {
    static let bytes: UInt64 = 4096
}
