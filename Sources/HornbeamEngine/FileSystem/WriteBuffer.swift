// Memory aligned to device blocks. A log or an appender reuses it for every write.

/// A block of raw memory that lives as long as the object.
///
/// Unchecked: the owner accesses it only under the lock that guards the owner's state.
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

/// The unit in which devices write. Two writes to one block write the whole block twice.
enum DeviceBlock {
    static let bytes: UInt64 = 4096
}
