// The memory of a pool's frames: address space that is reserved in one call. The system allocates memory at the first access to each page.
//
// A program that opens a store, reads a little and closes it uses few frames. Reserving and releasing address space, with a page fault for
// each page, takes a sixth of that time. So the memory of the last such pool is saved for the next pool of the same size.

import Glibc
internal import HornbeamThreads

/// Reserved address space. One pool owns it until it calls `saveOrUnmap`.
@safe struct PoolMemory: Sendable {
    nonisolated(unsafe) private let mapping: UnsafeMutableRawPointer  // fixed at init
    private let bytes: Int
    /// The first frame, at the beginning of a huge page.
    nonisolated(unsafe) let base: UnsafeMutableRawPointer  // fixed at init

    static let hugePageBytes = 2 << 20
    static let adviseHugePages: Int32 = 14  // MADV_HUGEPAGE
    /// The largest number of used frames with which a mapping is saved for the next pool.
    private static let reusableFramesMax = 32
    private static let spare = Guarded<PoolMemory?>(nil)

    /// Reserves memory, or returns a saved mapping of the same size. Nil if the system refuses, or if no address space has the size. The content
    /// of the memory is undefined.
    static func reserve(frames: Int, pageSize: Int) -> PoolMemory? {
        guard frames <= (Int.max - hugePageBytes) / pageSize else {
            errno = ENOMEM
            return nil
        }
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

    /// Saves the mapping for the next pool, or unmaps it if the pool used many frames.
    func saveOrUnmap(framesUsed: Int) {
        var toUnmap: PoolMemory? = self
        if framesUsed <= PoolMemory.reusableFramesMax {
            PoolMemory.spare.withLock { swap(&$0, &toUnmap) }
        }
        guard let toUnmap else { return }
        unsafe munmap(toUnmap.mapping, toUnmap.bytes)
    }
}
