// The memory of frames: populates it before the first use, requests huge pages, and returns the memory of free frames.

import Glibc
import HornbeamThreads

extension FramePool {
    /// The size of a huge page. A small page that is not in the processor's TLB costs a walk of the page tables, and two walks on a virtual
    /// machine. With huge pages, a large pool fits in the TLB.
    private static let hugePageBytes = PoolMemory.hugePageBytes
    private static let collapseToHugePage: Int32 = 25  // MADV_COLLAPSE
    /// Smaller pools use small pages, since a huge page uses all its memory at the first access.
    private static let bytesForHugePages = 32 << 20
    private static let framesBeforePrefault: UInt32 = 8
    /// The number of used frames from which huge pages are requested. Clearing one takes a tenth of the time of clearing its small pages.
    private static let framesBeforeHugePages: UInt32 = 16
    /// The number of bytes that another thread populates in advance.
    private static let prefaultBytes = 16 << 20

    /// Populates the memory of the next frames in one call, since otherwise the first access to each page is a page fault. For a large pool,
    /// another thread populates the following frames, up to the pool's goal.
    func prefault(_ state: inout State) {
        // The first frames are not populated in advance, and then few: a short use of a store reads few pages, and clearing unused memory
        // would take longer than reading them.
        guard state.end >= FramePool.framesBeforePrefault else { return }
        let left = Int(state.prefaulted) - Int(state.end)
        let ahead = min(FramePool.prefaultBytes / pageSize, capacity - state.reserved - Int(state.prefaulted))
        if left < ahead / 2, Int(state.end) * pageSize >= FramePool.prefaultBytes, Cores.count > 1,
            unsafe prefaulter.begin(base + Int(state.prefaulted) * pageSize, ahead * pageSize)
        {
            state.prefaulted += UInt32(ahead)
        }
        guard state.end >= state.prefaulted else { return }
        useHugePages(&state)
        let most = min(UInt32(min(64, capacity / 4)), UInt32(maximum) + 1 - state.end)
        let count = min(state.end, most)
        unsafe Prefaulter.populate(base + Int(state.end) * pageSize, Int(count) * pageSize)
        state.prefaulted = state.end + count
    }

    /// Requests huge pages once the pool grows. If the system refuses, the pool continues with small pages.
    private func useHugePages(_ state: inout State) {
        guard !state.hasHugePages, capacity * pageSize >= FramePool.bytesForHugePages, state.end >= FramePool.framesBeforeHugePages else { return }
        state.hasHugePages = true
        _ = unsafe madvise(base, (maximum + 1) * pageSize, PoolMemory.adviseHugePages)
        _ = unsafe madvise(base, FramePool.hugePageBytes, FramePool.collapseToHugePage)
    }

    /// Returns the memory of the highest free frames, so that at most `count` frames have memory.
    func returnMemory(_ state: inout State, downTo count: Int) {
        let excess = min(Int(state.end) - 1 - state.freeWithoutMemory.count - count, state.free.count)
        guard excess > 0 else { return }
        state.free.sort(by: >)
        returnMemory(state.free.prefix(excess))
        state.freeWithoutMemory.append(contentsOf: state.free.prefix(excess))
        state.freeWithoutMemory.sort(by: >)
        state.free.removeFirst(excess)
    }

    /// Returns the memory of free frames. The numbers must be in descending order.
    private func returnMemory(_ frames: ArraySlice<UInt32>) {
        var rest = frames
        while let last = rest.first {
            var first = last
            rest = rest.dropFirst()
            while let next = rest.first, next + 1 == first {
                first = next
                rest = rest.dropFirst()
            }
            // Only whole pages of the system, since a page at the end of the range may contain a frame in use.
            let unit = Int(getpagesize())
            let start = (Int(first) * pageSize + unit - 1) / unit * unit
            let end = (Int(last) + 1) * pageSize / unit * unit
            if start < end { _ = unsafe madvise(base + start, end - start, MADV_DONTNEED) }
        }
    }
}
