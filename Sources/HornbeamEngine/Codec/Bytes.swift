// A borrowed range of bytes with typed loads, comparison and slices. It points into a page, a row or a log record.

import Glibc

/// A borrowed range of bytes: a key, a value, a cell. Valid only during the call that supplies it.
@safe @usableFromInline
package struct Bytes {
    @usableFromInline let base: UnsafeRawPointer
    @usableFromInline let count: Int

    @inlinable @inline(__always)
    init(_ base: UnsafeRawPointer, _ count: Int) {
        unsafe self.base = base
        self.count = count
    }

    /// An empty range. Its address is never read.
    @usableFromInline static var none: Bytes { unsafe Bytes(UnsafeRawPointer(bitPattern: 8)!, 0) }

    @inlinable init(_ buffer: UnsafeRawBufferPointer) {
        if let base = buffer.baseAddress {
            unsafe self.init(base, buffer.count)
        } else {
            self = .none
        }
    }

    @inlinable var buffer: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

    @inlinable @inline(__always)
    func load<T: BitwiseCopyable>(_ offset: Int, as type: T.Type = T.self) -> T {
        assert(offset >= 0 && offset + MemoryLayout<T>.size <= count)
        return unsafe base.loadUnaligned(fromByteOffset: offset, as: T.self)
    }

    @inlinable func dropFirst(_ n: Int) -> Bytes { unsafe Bytes(base + n, count - n) }
    @inlinable func prefix(_ n: Int) -> Bytes { unsafe Bytes(base, n) }

    @inlinable var array: [UInt8] { unsafe Array(buffer) }

    /// The first eight bytes as a big-endian number, padded with zeros. Such numbers sort as the bytes do.
    @inline(__always)
    var head: UInt64 {
        if count >= 8 { return UInt64(bigEndian: load(0)) }
        var value: UInt64 = 0
        for i in 0..<count { value |= UInt64(load(i, as: UInt8.self)) << UInt64(56 - 8 * i) }
        return value
    }

    /// Unsigned lexicographic order: negative, zero or positive.
    func compare(_ other: Bytes) -> Int {
        let order = unsafe memcmp(base, other.base, min(count, other.count))
        return order != 0 ? Int(order) : count - other.count
    }

    /// The number of equal leading bytes.
    func commonPrefix(_ other: Bytes) -> Int {
        let limit = min(count, other.count)
        var n = 0
        while n + 8 <= limit {
            let difference = UInt64(littleEndian: load(n)) ^ UInt64(littleEndian: other.load(n))
            if difference != 0 { return n + difference.trailingZeroBitCount / 8 }
            n += 8
        }
        while n < limit, load(n, as: UInt8.self) == other.load(n, as: UInt8.self) { n += 1 }
        return n
    }
}

extension Array where Element == UInt8 {
    /// Calls a closure with the array as `Bytes`, valid during the call only.
    @inlinable
    func withBorrowedBytes<R, E: Error>(_ body: (Bytes) throws(E) -> R) throws(E) -> R {
        var result: Result<R, E>?
        unsafe withUnsafeBytes { raw in
            do throws(E) { result = .success(try body(unsafe Bytes(raw))) } catch { result = .failure(error) }
        }
        return try result!.get()
    }
}
