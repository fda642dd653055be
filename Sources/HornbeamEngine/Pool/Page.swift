// The bytes of one page in memory, with typed loads and stores at offsets.
//
// All unsafe access to page memory is in `Page`. Offsets come from pages that were verified when they were loaded, or that this process
// made. In addition, debug builds check them.

import Glibc
import Synchronization

/// The memory of a page: a frame of the pool or a temporary page.
@safe @usableFromInline
package struct Page {
    @usableFromInline let base: UnsafeMutableRawPointer

    /// The largest size of a page in memory.
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

    /// A range of bytes, valid as long as the page is.
    @inlinable @inline(__always)
    func bytes(_ offset: Int, _ count: Int) -> Bytes {
        assert(offset >= 0 && count >= 0 && offset + count <= Page.sizeMax)
        return unsafe Bytes(UnsafeRawPointer(base + offset), count)
    }

    /// Reads a byte of each cache line of a range, so that the lines are in the cache afterwards. The loads are sequential and independent, so
    /// the processor executes them in parallel. A search must wait for each line before it knows the next one.
    @inline(__always)
    func touch(_ start: Int, _ end: Int) {
        var sum: UInt64 = 0
        var offset = start
        while offset < end {
            sum &+= UInt64(load(offset, as: UInt8.self))
            offset &+= 64
        }
        // Never true. If the sum were not used, the compiler would remove the loads.
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
