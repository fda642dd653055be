// Little-endian integers in raw buffers. All layouts of the file format use them. Only debug builds check the bounds.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

extension UnsafeRawBufferPointer {
    /// The little-endian integer at an offset, aligned or not. Callers check the offsets in untrusted bytes first.
    @inlinable
    package func integer<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type = T.self) -> T {
        T(littleEndian: unsafe loadUnaligned(fromByteOffset: offset, as: type))
    }
}

extension UnsafeMutableRawBufferPointer {
    /// The little-endian integer at an offset, aligned or not.
    @inlinable
    package func integer<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type = T.self) -> T {
        T(littleEndian: unsafe loadUnaligned(fromByteOffset: offset, as: type))
    }

    /// Stores an integer in little-endian order.
    @inlinable
    package func set<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
        unsafe storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
    }

    /// A part of the buffer, from offset zero.
    @inlinable
    package func part(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(rebasing: self[range])
    }
}

extension UnsafeRawBufferPointer {
    /// Whether all bytes are zero.
    var isZero: Bool {
        guard let start = baseAddress, unsafe start.load(as: UInt8.self) == 0 else { return unsafe isEmpty }
        // All bytes are equal if each byte equals its predecessor.
        return unsafe memcmp(start, start + 1, count - 1) == 0
    }

    /// A part of the buffer, from offset zero.
    @inlinable
    package func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: self[range])
    }
}
