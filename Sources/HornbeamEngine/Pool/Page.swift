// The bytes of one page in memory, with typed loads and stores at offsets.
//
// This is the room for unsafe memory access: everything above reads and writes pages through `Page`. Offsets
// come from pages that were verified at load or built by us; debug builds check them all the same.

import Glibc
import Synchronization

/// A page image in memory: a frame of the pool or a scratch page.
@safe @usableFromInline
package struct Page {
    @usableFromInline let base: UnsafeMutableRawPointer

    /// The largest logical page.
    @usableFromInline static let sizeMax = 16384

    @inlinable init(_ base: UnsafeMutableRawPointer) { unsafe self.base = base }

    @inlinable @inline(__always)
    func load<T: BitwiseCopyable>(_ offset: Int, as type: T.Type = T.self) -> T {
        assert(offset >= 0 && offset + MemoryLayout<T>.size <= Page.sizeMax, "page read at \(offset)")
        return unsafe base.loadUnaligned(fromByteOffset: offset, as: T.self)
    }

    @inlinable @inline(__always)
    func store<T: BitwiseCopyable>(_ value: T, at offset: Int) {
        assert(offset >= 0 && offset + MemoryLayout<T>.size <= Page.sizeMax, "page write at \(offset)")
        unsafe base.storeBytes(of: value, toByteOffset: offset, as: T.self)
    }

    /// Moves bytes within the page; the ranges may overlap.
    func move(from source: Int, to target: Int, count: Int) {
        assert(count >= 0 && source + count <= Page.sizeMax && target + count <= Page.sizeMax)
        unsafe memmove(base + target, base + source, count)
    }

    /// Copies bytes of another page.
    func copy(_ count: Int, from other: Page, at source: Int, to target: Int) {
        assert(count >= 0 && source + count <= Page.sizeMax && target + count <= Page.sizeMax)
        unsafe memcpy(base + target, other.base + source, count)
    }

    func copy(_ bytes: Bytes, to target: Int) {
        assert(target + bytes.count <= Page.sizeMax)
        if bytes.count > 0 { unsafe memcpy(base + target, bytes.base, bytes.count) }
    }

    func zero(_ offset: Int, count: Int) {
        if count > 0 { unsafe memset(base + offset, 0, count) }
    }

    /// A run of bytes, valid as long as the page is.
    @inlinable @inline(__always)
    func bytes(_ offset: Int, _ count: Int) -> Bytes {
        assert(offset >= 0 && count >= 0 && offset + count <= Page.sizeMax)
        return unsafe Bytes(UnsafeRawPointer(base + offset), count)
    }

    /// Reads a byte of each cache line of a range. The loads do not wait for one another, as they would in a walk that
    /// learns from one line where the next one is; and what is read in order the processor fetches ahead.
    @inline(__always)
    func touch(_ start: Int, _ end: Int) {
        var sum: UInt64 = 0
        var offset = start
        while offset < end {
            sum &+= UInt64(load(offset, as: UInt8.self))
            offset &+= 64
        }
        // Never true; without a use of the sum the compiler would leave the loads out.
        if sum > UInt64(Page.sizeMax) * 256 { fatalError("A page has more bytes than it can have.") }
    }

    /// A 32-bit cell that several threads read and write.
    func atomic32(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt32>> {
        unsafe (base + offset).assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    /// A 64-bit cell that several threads read and one writes.
    func atomic64(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        unsafe (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    }
}

/// A borrowed run of bytes: a key, a value, a cell. Valid only while its owner lends it.
@safe @usableFromInline
package struct Bytes {
    @usableFromInline let base: UnsafeRawPointer
    @usableFromInline let count: Int

    @inlinable @inline(__always)
    init(_ base: UnsafeRawPointer, _ count: Int) {
        unsafe self.base = base
        self.count = count
    }

    /// No bytes; an address that is never read.
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

    /// The first eight bytes as a big-endian number, padded with zeros: orders as the bytes do.
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

    /// How many leading bytes are equal.
    func commonPrefix(_ other: Bytes) -> Int {
        let limit = min(count, other.count)
        var n = 0
        while n < limit, load(n, as: UInt8.self) == other.load(n, as: UInt8.self) { n += 1 }
        return n
    }
}

extension Array where Element == UInt8 {
    /// Lends the array as `Bytes`.
    @inlinable
    func lend<R, E: Error>(_ body: (Bytes) throws(E) -> R) throws(E) -> R {
        var result: Result<R, E>?
        unsafe withUnsafeBytes { raw in
            do throws(E) { result = .success(try body(unsafe Bytes(raw))) } catch { result = .failure(error) }
        }
        return try result!.get()
    }
}
