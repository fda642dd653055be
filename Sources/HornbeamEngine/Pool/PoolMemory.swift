// The memory of a pool's frames: address space that is reserved at once and takes memory as it is touched.
//
// A store that was opened for a look and closed has touched a few frames. Reserving address space anew, taking a fault for each
// page of it and giving it back is a sixth of such an opening, so the memory of the last such pool waits for the next of its size.

import Glibc
internal import HornbeamThreads

/// Reserved address space, owned by one pool until it gives it up.
@safe struct PoolMemory: Sendable {
    nonisolated(unsafe) private let mapping: UnsafeMutableRawPointer  // fixed at init
    private let bytes: Int
    /// The first frame, at the beginning of a huge page.
    nonisolated(unsafe) let base: UnsafeMutableRawPointer  // fixed at init

    static let hugePageBytes = 2 << 20
    /// Frames that may have memory in what waits for the next pool.
    private static let framesKept = 32
    private static let spare = Guarded<PoolMemory?>(nil)

    /// Nil where the system refuses. What the memory holds means nothing.
    static func reserve(frames: Int, pageSize: Int) -> PoolMemory? {
        let bytes = frames * pageSize + hugePageBytes
        let kept: PoolMemory? = spare.withLock { spare in
            guard spare?.bytes == bytes else { return nil }
            return spare.take()
        }
        if let kept { return kept }
        let mapping = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let mapping = unsafe mapping, unsafe mapping != MAP_FAILED else { return nil }
        return unsafe PoolMemory(mapping, bytes)
    }

    private init(_ mapping: UnsafeMutableRawPointer, _ bytes: Int) {
        unsafe self.mapping = unsafe mapping
        self.bytes = bytes
        let start = (UInt(bitPattern: mapping) + UInt(PoolMemory.hugePageBytes) - 1) & ~UInt(PoolMemory.hugePageBytes - 1)
        unsafe base = UnsafeMutableRawPointer(bitPattern: start)!
    }

    /// The pool is gone that used so many frames of it.
    func giveUp(framesUsed: Int) {
        var superfluous: PoolMemory? = self
        if framesUsed <= PoolMemory.framesKept {
            PoolMemory.spare.withLock { swap(&$0, &superfluous) }
        }
        guard let superfluous else { return }
        unsafe munmap(superfluous.mapping, superfluous.bytes)
    }
}
